compare --results . --format tsv small.json small_new.json
