compare --results same_day small.json small_new.json
