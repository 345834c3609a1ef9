compare --results . small.json small.json
