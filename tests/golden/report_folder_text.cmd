report --all mixed
