compare small.json truncated.json
