report --results results --headline other_board.json
