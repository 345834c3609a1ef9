compare --results . --explain --only-changed small.json small_new.json
