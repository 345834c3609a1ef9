report small.json small_new.json
