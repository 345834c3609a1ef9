report --map golden_alpha.map map.json
