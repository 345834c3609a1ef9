report --map golden_alpha.time map.json
