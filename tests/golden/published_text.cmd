report --published board_a.json board_b.json
