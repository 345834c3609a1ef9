compare --results nowhere --strict small.json troubled.json
