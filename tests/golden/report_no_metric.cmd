report --metric 'lunch.*' small.json
