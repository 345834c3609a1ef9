claims full.json --search the --format json
