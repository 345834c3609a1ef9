report --results results full.json
