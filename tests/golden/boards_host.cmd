report small.json host.json
