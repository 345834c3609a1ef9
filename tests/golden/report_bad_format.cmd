report --format html small.json
