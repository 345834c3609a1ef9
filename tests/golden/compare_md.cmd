compare --results nowhere --format md --only-changed small.json small_new.json
