compare --results nowhere --explain --only-changed small.json small_new.json
