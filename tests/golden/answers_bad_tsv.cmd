report --format tsv --section memory small.json
