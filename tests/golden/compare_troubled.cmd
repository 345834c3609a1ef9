compare --results . --strict small.json troubled.json
