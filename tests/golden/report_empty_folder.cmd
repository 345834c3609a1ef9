report --all results
