compare --results . --format json --metric 'launch.*' small.json small_new.json
