report troubled.json
