compare --results . --strict --metric '*{mode*' small.json small_new.json
