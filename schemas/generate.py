"""Writes the JSON Schema of every event from its struct, for readers in other languages.

python -m schemas.generate [FOLDER]      (run by scripts/schemas)
"""

import ast
import inspect
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from gossamer import events
from gossamer.events import Event, SeedAdded, pages
from gossamer.events.topics import TOPIC_OF
from gossamer.web import cookies, robots, soft_404, validators

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parent / "events"

Schema = dict[str, Any]


def main(folder: Path) -> None:
    """Write all schemas into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in all_schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


def all_schemas() -> dict[str, Schema]:
    """Return the JSON Schema of every event on a topic, by file name."""
    found = {file_name(event): schema_of(event) for event in TOPIC_OF}
    in_json: dict[str, Schema] = json.loads(json.dumps(found))
    return in_json


def file_name(event: type[Event]) -> str:
    """Return `page_fetched.v1.json` for version 1 of PageFetched."""
    version = {field.name: field.default for field in msgspec.structs.fields(event)}["version"]
    return f"{event.__struct_config__.tag}.v{version}.json"


def schema_of(event: type[Event]) -> Schema:
    """Return the JSON Schema of *event*, with the docstrings of the event and its fields."""
    described = msgspec.json.schema(event)
    parts = described["$defs"]
    for name, part in parts.items():
        for field, text in descriptions_of_fields(_named(name)).items():
            part["properties"][field]["description"] = text
    if event is SeedAdded:
        # Any program may produce seeds, so the tag is optional.
        parts["SeedAdded"]["required"].remove("event")
    return {
        "$schema": DIALECT,
        "title": event.__name__,
        "description": parts[event.__name__]["description"],
        **described,
    }


def _named(name: str) -> type[Any]:
    found: type[Any] = next(
        getattr(module, name)
        for module in (events, pages, cookies, robots, soft_404, validators)
        if hasattr(module, name)
    )
    return found


def descriptions_of_fields(kind: type[Any]) -> dict[str, str]:
    """Return the docstring below each field of *kind* and of its base classes."""
    if not issubclass(kind, msgspec.Struct):
        return {}
    parents = (base for base in kind.__bases__ if base is not msgspec.Struct)
    inherited = [descriptions_of_fields(base) for base in parents]
    return {name: text for part in inherited for name, text in part.items()} | _described(kind)


def _described(kind: type[Any]) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=field_name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                texts[field_name] = " ".join(words.split())
    return texts


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
