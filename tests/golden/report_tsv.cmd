report --format tsv full.json
