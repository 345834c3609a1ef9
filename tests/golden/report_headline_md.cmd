report --section vital --format md full.json
