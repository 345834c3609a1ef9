compare --results . --allow board --allow n_sm --metric 'launch.*' small.json other_board.json
