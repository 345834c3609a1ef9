report --results results --section curve --format md small.json
