claims full.json other_board.json
