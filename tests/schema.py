#!/usr/bin/env python3
"""schema.py KIND FILE: does a document follow results/schema/KIND.schema.json? Exits with 0 if it
does, or if this python has no jsonschema; else with 1 and one line."""
import glob
import json
import os
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../results/schema")


def schemas():
    """File names, and what a $ref may call each, mapped to schemas."""
    found = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="utf-8") as file:
            one = json.load(file)
        found[os.path.basename(path)] = one
        found[one.get("$id", os.path.basename(path))] = one
    return found


def validator_of(kind):
    """The validator of a kind of document, in whichever way this version of jsonschema finds the
    other files that a schema refers to. None if there is no such schema."""
    all_of_them = schemas()
    schema = all_of_them.get(f"{kind}.schema.json")
    if schema is None:
        return None
    make = jsonschema.validators.validator_for(schema)
    make.check_schema(schema)
    try:
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012
        registry = Registry().with_resources(
            (name, Resource.from_contents(one, default_specification=DRAFT202012))
            for name, one in all_of_them.items())
        return make(schema, registry=registry)
    except (ImportError, TypeError):  # before jsonschema 4.18
        resolver = jsonschema.RefResolver(schema.get("$id", ""), schema, store=all_of_them)
        return make(schema, resolver=resolver)


def complaint(kind, document):
    """What is wrong with a document, in one line; None if nothing is."""
    validator = validator_of(kind)
    if validator is None:
        return f"results/schema has no {kind}.schema.json"
    wrong = next(iter(sorted(validator.iter_errors(document), key=lambda e: len(e.absolute_path))), None)
    if wrong is None:
        return None
    return f"{'/'.join(map(str, wrong.absolute_path)) or 'document'}: {wrong.message[:160]}"


if __name__ == "__main__":
    if jsonschema is not None:
        with open(sys.argv[2], encoding="utf-8") as opened:
            sys.exit(complaint(sys.argv[1], json.load(opened)))
