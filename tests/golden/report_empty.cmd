report empty.json
