report mixed
