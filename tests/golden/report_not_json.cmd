report not_json.json
