report --published --format tsv board_a.json
