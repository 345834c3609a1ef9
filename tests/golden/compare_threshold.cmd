compare --results . --threshold 10 --metric '*{*l=hbm*' small.json small_new.json
