compare --results nowhere small.json small.json
