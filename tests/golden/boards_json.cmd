report --format json board_a.json board_b.json
