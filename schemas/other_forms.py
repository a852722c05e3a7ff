"""Writes the public events as Avro and Protobuf schemas, for programs that do not use JSON Schema.

The topics contain JSON in any case. Field names are the same, so that it converts directly:
Protobuf's JSON form reads it, and an Avro writer takes its fields as they are.

python -m schemas.other_forms      (run by scripts/schemas)
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import NODEFAULT, inspect

from gossamer.events import Event, Page, PageArchived
from schemas.generate import descriptions_of_fields

PUBLIC = (Page, PageArchived)
AVRO, PROTOBUF = Path(__file__).parent / "avro", Path(__file__).parent / "protobuf"
PACKAGE = "gossamer"
HEAD = f"""// Written by scripts/schemas; do not edit.
syntax = "proto3";
package {PACKAGE};"""
_NUMBERED = re.compile(r"^  (?:\S+ )*?(\w+) = (\d+);$", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Write both schemas of every public event."""
    for event in PUBLIC:
        name = str(event.__struct_config__.tag)
        avro = json.dumps(avro_of(event), indent=2, ensure_ascii=False)
        _write(AVRO / f"{name}.avsc", avro + "\n")
        file = PROTOBUF / f"{name}.proto"
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        _write(file, protobuf_of(event, before))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _struct(kind: type[Any]) -> inspect.StructType:
    about = inspect.type_info(kind)
    assert isinstance(about, inspect.StructType)
    return about


def _bare(kind: inspect.Type) -> tuple[inspect.Type, bool]:
    """Return a type without its metadata, and whether it is optional."""
    match kind:
        case inspect.Metadata(type=plain):
            return _bare(plain)
        case inspect.UnionType(types=kinds):
            (member,) = (one for one in kinds if not isinstance(one, inspect.NoneType))
            return _bare(member)[0], True
    return kind, False


def avro_of(event: type[Event]) -> dict[str, Any]:
    """Return the Avro schema of *event*."""
    return _record(_struct(event), set())


def _record(struct: inspect.StructType, named: set[str]) -> dict[str, Any]:
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


def _avro_default(field: inspect.Field) -> dict[str, Any]:
    if field.required:
        return {}
    if field.default is NODEFAULT:
        return {"default": {}}
    default = field.default
    if isinstance(default, tuple):
        return {"default": []}
    return {"default": {} if hasattr(default, "__struct_fields__") else default}


def _avro(kind: inspect.Type, named: set[str]) -> Any:
    bare, optional = _bare(kind)
    found = _AVRO.get(type(bare))
    if found is None:
        found = _avro_container(bare, named)
    return ["null", found] if optional else found


_AVRO = {
    inspect.StrType: "string",
    inspect.EnumType: "string",
    inspect.BoolType: "boolean",
    inspect.IntType: "long",
    inspect.FloatType: "double",
}


def _avro_container(kind: inspect.Type, named: set[str]) -> Any:
    match kind:
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _avro(item, named)}
        case inspect.DictType(value_type=value):
            return {"type": "map", "values": _avro(value, named)}
        case inspect.StructType() if kind.cls.__name__ in named:
            return f"{PACKAGE}.{kind.cls.__name__}"
        case inspect.StructType():
            return _record(kind, named)
    raise TypeError(f"schemas/other_forms.py does not map {kind} to Avro yet")


def protobuf_of(event: type[Event], before: str) -> str:
    """Return the Protobuf file of *event*. Fields keep their numbers of the file *before*."""
    numbers = {
        name: {field: int(number) for field, number in _NUMBERED.findall(body)}
        for name, body in _MESSAGE.findall(before)
    }
    structs = {struct.cls.__name__: struct for struct in _structs(_struct(event))}
    messages = [
        "\n".join(_message(struct, numbers.get(name, {}))) for name, struct in structs.items()
    ]
    return "\n\n".join([HEAD, *messages]) + "\n"


def _structs(struct: inspect.StructType) -> Iterator[inspect.StructType]:
    yield struct
    for field in struct.fields:
        bare, _ = _bare(field.type)
        item = _bare(bare.item_type)[0] if isinstance(bare, inspect.VarTupleType) else bare
        if isinstance(item, inspect.StructType):
            yield from _structs(item)


def _message(struct: inspect.StructType, numbers: dict[str, int]) -> Iterator[str]:
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


def _protobuf(kind: inspect.Type) -> str:
    bare, optional = _bare(kind)
    match bare:
        case inspect.VarTupleType(item_type=item):
            return f"repeated {_protobuf(item)}"
        case inspect.DictType(value_type=value):
            return f"map<string, {_protobuf(value)}>"
        case inspect.StructType():
            return bare.cls.__name__
    return ("optional " if optional else "") + _PROTOBUF[type(bare)]


_PROTOBUF = {
    inspect.StrType: "string",
    inspect.EnumType: "string",
    inspect.BoolType: "bool",
    inspect.IntType: "int64",
    inspect.FloatType: "double",
}


def _text(doc: str | None) -> str:
    return " ".join((doc or "").split())


if __name__ == "__main__":
    main()
