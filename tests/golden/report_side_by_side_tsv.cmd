report --format tsv --metric 'launch.*' small.json other_board.json
