"""A tool pack in Python: two functions that count words.

The world is `chitin:tool/tool`; componentize-py makes the module `wit_world` from it. Import modules at the top: an
import inside a function fails at run time, because the source is read once, when the component is built.
"""

# Counter imports it when it is first needed, which is too late in here.
import heapq  # noqa: F401
import json
import re
from collections import Counter

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.guest import Effects, Spec
from wit_world.imports import types

TEXT = {"type": "string", "description": "The text.", "maxLength": 100_000}


def schema(properties, required):
    return json.dumps(
        {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    )


SPECS = [
    Spec(
        name="count",
        title="Count words",
        summary="Counts the words and characters of a text.",
        input_schema=schema({"text": TEXT}, ["text"]),
        output_schema=None,
        effects=Effects.IDEMPOTENT,
        extras=[],
    ),
    Spec(
        name="most_common",
        title="Most common words",
        summary="Lists the words that a text uses most, with their numbers.",
        input_schema=schema(
            {"text": TEXT, "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}}, ["text"]
        ),
        output_schema=None,
        effects=Effects.IDEMPOTENT,
        extras=[],
    ),
]


def words(text):
    return re.findall(r"\w+", text.lower())


def count(arguments):
    text = arguments["text"]
    return {"words": len(words(text)), "characters": len(text)}


def most_common(arguments):
    counted = Counter(words(arguments["text"])).most_common(arguments.get("limit", 10))
    return [{"word": word, "times": times} for word, times in counted]


FUNCTIONS = {"count": count, "most_common": most_common}


class Guest(exports.Guest):
    def describe(self):
        return SPECS

    def invoke(self, req):
        function = FUNCTIONS.get(req.tool)
        if function is None:
            # Only `Err` becomes a failure that the caller can read; any other exception ends the instance.
            raise Err(types.Failure(types.FailureKind.NOT_FOUND, "unknown-tool", f"there is no tool {req.tool}", None))
        return [types.Part_Data(json.dumps(function(json.loads(req.args))))]
