report full.json
