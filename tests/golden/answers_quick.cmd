report --results results quick.json
