report --headline quick.json
