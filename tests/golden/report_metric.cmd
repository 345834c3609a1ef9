report --metric 'launch.edge*' small.json
