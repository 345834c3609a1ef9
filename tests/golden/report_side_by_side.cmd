report --all small.json other_board.json host.json
