compare small.json
