claims host.json --id C10 --counters counted.json
