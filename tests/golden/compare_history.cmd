compare --results results small.json small_new.json
