report --results results --format json small.json
