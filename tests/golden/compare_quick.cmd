compare --results . --metric 'launch.*' quick.json full.json
