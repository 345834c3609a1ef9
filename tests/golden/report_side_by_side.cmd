report small.json other_board.json host.json
