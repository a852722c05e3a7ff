"""The public events in Avro and Protobuf, read by the tools of these formats."""

import importlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import json_format
from grpc_tools import protoc

from gossamer.events import Page
from gossamer.log import Record
from gossamer.log.codec import decode, encode
from gossamer.schemas.formats import AVRO, PROTOBUF, PUBLIC, protobuf_of, schema_of

SCHEMAS = AVRO.parent
EXAMPLES = {
    "page": sorted(SCHEMAS.glob("examples/pages/*/*.json")),
    "page_archived": sorted(SCHEMAS.glob("examples/pages.archived/*/*.json")),
}
CASES = [(tag, path) for tag, paths in EXAMPLES.items() for path in paths]


def tag_of(event: type[Any]) -> str:
    return str(event.__struct_config__.tag)


def whole(path: Path) -> dict[str, Any]:
    """Return the example as the code writes it, with all its fields."""
    topic = path.parts[-3]
    event = decode(Record(topic, 0, 0, "", path.read_bytes()))
    fields: dict[str, Any] = json.loads(encode(event).value)
    return fields


def holds(found: Any, fields: Any) -> bool:
    """Return whether *found* contains *fields*; it may also contain defaults."""
    if isinstance(fields, dict):
        # Protobuf omits an optional field that is null.
        there = {name: value for name, value in fields.items() if value is not None}
        return all(name in found and holds(found[name], value) for name, value in there.items())
    if isinstance(fields, list):
        return len(found) == len(fields) and all(map(holds, found, fields))
    if type(fields) is int and isinstance(found, str):
        # Protobuf's JSON has integers of 64 bits as strings.
        return found == str(fields)
    return bool(found == fields)


@pytest.mark.parametrize("event", PUBLIC, ids=tag_of)
def test_every_field_that_is_public_is_described(event: type[Any]) -> None:
    for name, part in schema_of(event)["$defs"].items():
        fields = {field for field in part.get("properties", {}) if field != "event"}
        assert all(part["properties"][field].get("description") for field in fields), name


@pytest.mark.parametrize(("tag", "path"), CASES, ids=lambda case: getattr(case, "stem", case))
def test_avro_reader_gets_the_written_values(tag: str, path: Path) -> None:
    schema = fastavro.parse_schema(json.loads((AVRO / f"{tag}.avsc").read_bytes()))
    fields, file = whole(path), io.BytesIO()
    fastavro.schemaless_writer(file, schema, fields)
    file.seek(0)
    del fields["event"]
    assert holds(fastavro.schemaless_reader(file, schema, None), fields)


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The message class that protoc generates from each file, by the event's tag."""
    folder = tmp_path_factory.mktemp("protobuf")
    made = {}
    sys.path.insert(0, str(folder))
    try:
        for event in PUBLIC:
            tag = tag_of(event)
            # A file for itself: both may have parts of one name.
            command = ["protoc", f"-I{PROTOBUF}", f"--python_out={folder}", f"{tag}.proto"]
            assert protoc.main(command) == 0
            made[tag] = getattr(importlib.import_module(f"{tag}_pb2"), event.__name__)
    finally:
        sys.path.remove(str(folder))
    return made


@pytest.mark.parametrize(("tag", "path"), CASES, ids=lambda case: getattr(case, "stem", case))
def test_protobuf_reads_the_json_of_a_record(
    messages: dict[str, Any], tag: str, path: Path
) -> None:
    fields = whole(path)
    message = json_format.ParseDict(fields, messages[tag](), ignore_unknown_fields=True)
    again = messages[tag].FromString(message.SerializeToString())
    told = json_format.MessageToDict(
        again, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    del fields["event"]
    assert holds(told, fields)


def test_field_keeps_its_number() -> None:
    before = (PROTOBUF / "page.proto").read_text(encoding="utf-8")
    moved = re.sub(r" title = \d+;", " title = 1000;", before)
    assert protobuf_of(Page, moved) == moved
    new = re.sub(r"  string title = \d+;\n", "", moved.replace(" site = ", " site = 2"))
    highest = max(int(number) for number in re.findall(r" = (\d+);", new))
    assert f" title = {highest + 1};" in protobuf_of(Page, new)
