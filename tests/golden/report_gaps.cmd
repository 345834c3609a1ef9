report --gaps troubled.json
