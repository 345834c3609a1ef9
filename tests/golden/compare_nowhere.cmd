compare --results nowhere small.json small_new.json
