report --section vital quick.json
