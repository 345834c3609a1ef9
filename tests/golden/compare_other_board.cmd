compare --results nowhere small.json other_board.json
