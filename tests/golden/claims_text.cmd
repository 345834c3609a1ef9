claims full.json
