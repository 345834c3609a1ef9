compare --results . --format md --only-changed small.json small_new.json
