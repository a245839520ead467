"""Prints a template as AWS SAM transforms it."""

import json
import sys

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

with open(sys.argv[1], encoding="utf-8") as file:
    template = yaml_parse(file.read())
for resource in template["Resources"].values():
    properties = resource["Properties"]
    if "CodeUri" in properties:  # `sam deploy` uploads the folder and puts its address here
        properties["CodeUri"] = "s3://bucket/key"
json.dump(Translator({}, Parser()).translate(template, {"BucketName": "larder"}), sys.stdout, indent=1)
