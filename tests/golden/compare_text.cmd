compare --results . small.json small_new.json
