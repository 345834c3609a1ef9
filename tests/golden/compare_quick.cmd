compare --results nowhere --metric 'launch.*' quick.json full.json
