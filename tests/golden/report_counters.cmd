report counted.json
