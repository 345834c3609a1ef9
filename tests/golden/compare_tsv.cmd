compare --results nowhere --format tsv small.json small_new.json
