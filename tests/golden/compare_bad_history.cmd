compare --results bad_history small.json small_new.json
