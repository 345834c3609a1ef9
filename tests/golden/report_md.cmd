report --all --format md small.json
