report --format md small.json
