report --published --format md board_a.json
