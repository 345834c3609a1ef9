report counted.json --format json
