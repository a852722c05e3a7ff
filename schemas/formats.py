"""The schemas of events: JSON Schema of every event, and Avro and Protobuf of the public ones.

The topics contain JSON. All three formats have the same field names, so JSON converts directly: a
Protobuf library parses it as the JSON form of the message, and an Avro writer accepts its fields.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec import inspect as types

from gossamer import events
from gossamer.events import Event, Page, PageArchived, SeedAdded, pages
from gossamer.events.topics import TOPIC_OF
from gossamer.settings.units import Section
from gossamer.web import cookies, robots, soft_404, usage, validators, walls
from gossamer.web.usage import files as usage_files

SCHEMAS = Path(__file__).resolve().parent
JSON_SCHEMA, AVRO, PROTOBUF = SCHEMAS / "events", SCHEMAS / "avro", SCHEMAS / "protobuf"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PUBLIC = (Page, PageArchived)
PACKAGE = "gossamer"
HEAD = f"""// Written by scripts/schemas; do not edit.
syntax = "proto3";
package {PACKAGE};"""

_NUMBERED = re.compile(r"^  (?:\S+ )*?(\w+) = (\d+);$", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)

Schema = dict[str, Any]


def files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its text."""
    for name, schema in all_schemas().items():
        yield JSON_SCHEMA / name, json.dumps(schema, indent=2) + "\n"
    for event in PUBLIC:
        name = str(event.__struct_config__.tag)
        avro = json.dumps(avro_of(event), indent=2, ensure_ascii=False)
        yield AVRO / f"{name}.avsc", avro + "\n"
        file = PROTOBUF / f"{name}.proto"
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        yield file, protobuf_of(event, before)


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
        for field, text in descriptions_of_fields(_find_type(name)).items():
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


def _find_type(name: str) -> type[Any]:
    found: type[Any] = next(
        getattr(module, name)
        for module in (
            events,
            pages,
            cookies,
            robots,
            soft_404,
            usage,
            usage_files,
            validators,
            walls,
        )
        if hasattr(module, name)
    )
    return found


def descriptions_of_fields(kind: type[Any]) -> dict[str, str]:
    """Return the docstring below each field of *kind* and of its base classes."""
    if not issubclass(kind, msgspec.Struct | Section):
        return {}
    parents = (base for base in kind.__bases__ if base is not msgspec.Struct)
    inherited = [descriptions_of_fields(base) for base in parents]
    return {name: text for part in inherited for name, text in part.items()} | _describe(kind)


def _describe(kind: type[Any]) -> dict[str, str]:
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


def _type_of(kind: type[Any]) -> types.StructType:
    about = types.type_info(kind)
    assert isinstance(about, types.StructType)
    return about


def _bare(kind: types.Type) -> tuple[types.Type, bool]:
    """Return a type without its metadata, and whether it is optional."""
    match kind:
        case types.Metadata(type=plain):
            return _bare(plain)
        case types.UnionType(types=kinds):
            (member,) = (one for one in kinds if not isinstance(one, types.NoneType))
            return _bare(member)[0], True
    return kind, False


def avro_of(event: type[Event]) -> dict[str, Any]:
    """Return the Avro schema of *event*."""
    return _record(_type_of(event), set())


def _record(struct: types.StructType, named: set[str]) -> dict[str, Any]:
    named.add(struct.cls.__name__)
    texts = descriptions_of_fields(struct.cls)
    return {
        "type": "record",
        "name": struct.cls.__name__,
        "namespace": PACKAGE,
        "doc": _text(struct.cls.__doc__),
        "fields": [
            {
                "name": field.name,
                "doc": texts.get(field.name, ""),
                "type": _avro(field.type, named),
                **_avro_default(field),
            }
            for field in struct.fields
        ],
    }


def _avro_default(field: types.Field) -> dict[str, Any]:
    if field.required:
        return {}
    if field.default is NODEFAULT:
        return {"default": {}}
    default = field.default
    if isinstance(default, tuple):
        return {"default": []}
    return {"default": {} if hasattr(default, "__struct_fields__") else default}


def _avro(kind: types.Type, named: set[str]) -> Any:
    bare, optional = _bare(kind)
    found = _AVRO.get(type(bare))
    if found is None:
        found = _avro_container(bare, named)
    return ["null", found] if optional else found


_AVRO = {
    types.StrType: "string",
    types.EnumType: "string",
    types.BoolType: "boolean",
    types.IntType: "long",
    types.FloatType: "double",
}


def _avro_container(kind: types.Type, named: set[str]) -> Any:
    match kind:
        case types.VarTupleType(item_type=item):
            return {"type": "array", "items": _avro(item, named)}
        case types.DictType(value_type=value):
            return {"type": "map", "values": _avro(value, named)}
        case types.StructType() if kind.cls.__name__ in named:
            return f"{PACKAGE}.{kind.cls.__name__}"
        case types.StructType():
            return _record(kind, named)
    raise TypeError(f"schemas/formats.py does not map {kind} to Avro yet")


def protobuf_of(event: type[Event], before: str) -> str:
    """Return the Protobuf file of *event*. Fields keep their numbers of the file *before*.

    A message that the file of an earlier event has is imported from there.
    """
    numbers = {
        name: {field: int(number) for field, number in _NUMBERED.findall(body)}
        for name, body in _MESSAGE.findall(before)
    }
    structs, imports = _messages_of(event), list[str]()
    for other in PUBLIC[: PUBLIC.index(event)]:
        if shared := structs.keys() & _messages_of(other).keys():
            imports.append(f'import "{other.__struct_config__.tag}.proto";')
            structs = {name: one for name, one in structs.items() if name not in shared}
    messages = [
        "\n".join(_message(struct, numbers.get(name, {}))) for name, struct in structs.items()
    ]
    return "\n\n".join([HEAD, *imports, *messages]) + "\n"


def _messages_of(event: type[Event]) -> dict[str, types.StructType]:
    return {struct.cls.__name__: struct for struct in _structs(_type_of(event))}


def _structs(struct: types.StructType) -> Iterator[types.StructType]:
    yield struct
    for field in struct.fields:
        item, _ = _bare(field.type)
        if isinstance(item, types.VarTupleType):
            item, _ = _bare(item.item_type)
        elif isinstance(item, types.DictType):
            item, _ = _bare(item.value_type)
        if isinstance(item, types.StructType):
            yield from _structs(item)


def _message(struct: types.StructType, numbers: dict[str, int]) -> Iterator[str]:
    texts, last = descriptions_of_fields(struct.cls), max(numbers.values(), default=0)
    yield f"// {_text(struct.cls.__doc__)}"
    yield f"message {struct.cls.__name__} {{"
    for field in struct.fields:
        if text := texts.get(field.name):
            yield f"  // {text}"
        number = numbers.get(field.name)
        if number is None:
            number = last = last + 1
        yield f"  {_protobuf(field.type)} {field.name} = {number};"
    yield "}"


def _protobuf(kind: types.Type) -> str:
    bare, optional = _bare(kind)
    match bare:
        case types.VarTupleType(item_type=item):
            return f"repeated {_protobuf(item)}"
        case types.DictType(value_type=value):
            return f"map<string, {_protobuf(value)}>"
        case types.StructType():
            return bare.cls.__name__
    return ("optional " if optional else "") + _PROTOBUF[type(bare)]


_PROTOBUF = {
    types.StrType: "string",
    types.EnumType: "string",
    types.BoolType: "bool",
    types.IntType: "int64",
    types.FloatType: "double",
}


def _text(doc: str | None) -> str:
    return " ".join((doc or "").split())
