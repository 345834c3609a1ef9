report bad_unit.json
