claims --format tsv other_board.json
