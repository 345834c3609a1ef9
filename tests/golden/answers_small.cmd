report --results results small.json
