claims --format tsv host.json
