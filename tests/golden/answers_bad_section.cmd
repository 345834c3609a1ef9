report --section memry small.json
