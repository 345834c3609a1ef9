report board_b.json board_a.json
