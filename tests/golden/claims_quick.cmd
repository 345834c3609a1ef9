claims --format tsv quick.json
