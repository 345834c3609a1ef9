compare --results nowhere --strict --metric '*{mode*' small.json small_new.json
