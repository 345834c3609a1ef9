claims --format tsv full.json
