report --format tsv mixed
