report --all host.json
