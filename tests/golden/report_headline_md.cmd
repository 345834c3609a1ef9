report --headline --format md full.json
