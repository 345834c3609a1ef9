compare --allow colour small.json other_board.json
