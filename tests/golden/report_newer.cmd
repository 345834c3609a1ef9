report newer.json
