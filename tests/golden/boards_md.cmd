report --format md board_a.json board_b.json
