"""Prints the permissions that CloudFormation needs for each type of resource in a transformed template.

They are those of CloudFormation's handlers, from AWS's own schemas, which cfn-lint contains.
"""

import json
import pathlib
import sys

import cfnlint.data.schemas

with open(sys.argv[1], encoding="utf-8") as file:
    types = {resource["Type"] for resource in json.load(file)["Resources"].values()}
permissions = {}
for path in (pathlib.Path(cfnlint.data.schemas.__file__).parent / "resources").glob("*.json"):
    schema = json.loads(path.read_text(encoding="utf-8"))
    if schema.get("typeName") in types:
        handlers = schema["handlers"]
        permissions[schema["typeName"]] = {
            handler: sorted(set(handlers.get(handler, {}).get("permissions", []))) for handler in ("create", "read")
        }
print(json.dumps(permissions, indent=1, sort_keys=True))
