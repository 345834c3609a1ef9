report truncated.json
