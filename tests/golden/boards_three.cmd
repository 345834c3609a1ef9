report board_a.json board_b.json board_c.json
