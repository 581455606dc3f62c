#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# rules-end-the-build.py RULES-OF-SCHEMAS: what a schema says and the daemon would not judge, or otherwise, ends the build, wherever it stands.
import json
import subprocess
import sys
import tempfile

WORD = {"type": "string", "pattern": "^[a-z][a-z0-9-]*$", "maxLength": 31}
failures = 0
for what, is_judged, member in (
        ("a word", True, WORD), ("a reference", True, {"$ref": "#/$defs/word", "$comment": "of a word"}), ("a reference and more", False, {"$ref": "#/$defs/word", "maxLength": 5}),
        ("a keyword of later drafts", False, {"type": "integer", "multipleOf": 3}), ("a pattern that nobody knows", False, {"type": "string", "pattern": "^x$"}),
        ("the length of any text", False, {"type": "string", "maxLength": 5}), ("unique numbers", True, {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}),
        ("unique words", True, {"type": "array", "uniqueItems": True, "items": WORD}), ("all of some rules", False, {"allOf": [{"type": "string"}]}),
        ("a condition for other readers", True, {"allOf": [{"if": {"type": "string"}, "then": {"minLength": 1}}]}), ("what follows from nothing", False, {"then": {"minLength": 1}}),
        ("two items and no more", True, {"type": "array", "prefixItems": [WORD, WORD], "items": False}),
        ("one of two items", False, {"type": "array", "prefixItems": [WORD, WORD], "items": False, "maxItems": 1}),
        ("the same, within an item", False, {"type": "array", "items": {"type": "array", "prefixItems": [WORD, WORD], "items": False, "maxItems": 1}})):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"type": "object", "properties": {"predicateType": {"const": "urn:x"}, "member": member}, "$defs": {"word": WORD}}, file)
        file.flush()
        status = subprocess.run([sys.executable, sys.argv[1], file.name], capture_output=True).returncode
    if (status == 0) != is_judged:
        failures += 1
        print(f"FAILED: {what}: {status}")
sys.exit(failures > 0)
