report --all troubled.json
