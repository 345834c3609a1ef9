claims --format md full.json
