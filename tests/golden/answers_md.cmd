report --results results --format md full.json
