report --format json --all small.json
