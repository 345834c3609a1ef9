report no_runs.json
