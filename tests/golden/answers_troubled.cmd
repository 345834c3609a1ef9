report --results results troubled.json
