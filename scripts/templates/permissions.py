"""Prints what making each type of resource takes that the transformed template which is named has.

It is what the handlers of CloudFormation ask for, by AWS's own schemas, which cfn-lint brings along.
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
