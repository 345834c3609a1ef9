report --results results host.json
