report --format tsv troubled.json
