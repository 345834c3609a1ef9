compare --results . small.json other_board.json
