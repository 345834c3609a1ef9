report --all full.json
