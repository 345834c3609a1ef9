report --results results nothing.json
