"""The contract in `schemas/` matches the code and changes only compatibly."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gossamer.errors import Poison
from gossamer.events.topics import TOPICS
from gossamer.log import Record
from gossamer.log.codec import decode, encode
from gossamer.schemas.formats import all_schemas
from tests.schemas.compatible import Schema, breaks, breaks_older, table_breaks, topic_breaks

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
EXAMPLES = sorted(path for path in SCHEMAS.glob("examples/*/*/*") if path.is_file())
JSON_EXAMPLES = [path for path in EXAMPLES if path.suffix == ".json"]
REFERENCES = ("main", "origin/main", "HEAD", "HEAD~1")
"""The compared commits: main on a branch, and the previous commit in a fresh clone of main."""


EARLIER = {"page.v1.json": "page.v2.json"}
"""The schemas of earlier versions, and the current schema that replaces each."""
NARROWED = (
    ".priority: minimum changed from None to -100",
    ".priority: maximum changed from None to 100",
)
"""Limits without effect on old records, because the frontier crashed on such values."""
UNRELEASED = (
    ".usage: the field was removed",
    ".share_for: the field was removed",
    ".usage: additionalProperties changed from {'type': 'string'} to {'$ref': '#/$defs/Judgement'}",
    ".usage: an older process accepts additionalProperties {'type': 'string'}, and not "
    "{'$ref': '#/$defs/Judgement'} as written now",
    ".crawl: the default changed from 'default' to '-'",
)
"""Changes that were made before the first release, when nobody had such records."""


def topic_of(example: Path) -> str:
    return example.parts[-3]


def kind_of(example: Path) -> str:
    """Return the tag of the event in *example*, which is optional for a seed."""
    tag: str = json.loads(example.read_bytes()).get("event", "seed_added")
    return tag


def schema_for(example: Path) -> Schema:
    file = SCHEMAS / "events" / f"{kind_of(example)}.v{example.parts[-2]}.json"
    schema: Schema = json.loads(file.read_text(encoding="utf-8"))
    return schema


def record(example: Path) -> Record:
    return Record(topic_of(example), 0, 0, "", example.read_bytes())


def short(path: Path) -> str:
    return str(path.relative_to(SCHEMAS))


def test_every_event_has_schema_and_example() -> None:
    there = {path.name for path in (SCHEMAS / "events").iterdir()}
    assert there - set(EARLIER) == set(all_schemas())
    shown = {(topic_of(path), kind_of(path)) for path in JSON_EXAMPLES}
    assert shown == {(topic.name, kind.event) for topic in TOPICS.values() for kind in topic.events}


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=short)
def test_digests_and_traces_in_examples_have_the_right_length(example: Path) -> None:
    fields = json.loads(example.read_bytes())
    for name in ("digest", "trace"):
        found = fields.get(name, "")
        assert not found or found.startswith("sha1:") or len(found) == 32, name


@pytest.mark.slow
def test_schemas_match_the_structs() -> None:
    for name, schema in all_schemas().items():
        path = SCHEMAS / "events" / name
        assert path.exists() and json.loads(path.read_bytes()) == schema, (
            f"{name} does not match gossamer/events: run scripts/schemas"
        )
        Draft202012Validator.check_schema(schema)
        assert schema["title"] and schema["description"]


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=short)
def test_example_is_valid(example: Path) -> None:
    Draft202012Validator(schema_for(example)).validate(json.loads(example.read_bytes()))


@pytest.mark.parametrize("example", EXAMPLES, ids=short)
def test_example_survives_decoding_and_encoding(example: Path) -> None:
    event = decode(record(example))
    message = encode(event)
    assert message.topic == topic_of(example)
    assert decode(Record(message.topic, 0, 0, message.key, message.value)) == event
    written = json.loads(message.value)
    if example.suffix == ".json":
        Draft202012Validator(schema_for(example)).validate(written)
        assert _within(json.loads(example.read_bytes()), written), "a field was not decoded"


def _within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return all(name in whole and _within(part[name], whole[name]) for name in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return bool(part == whole)


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=short)
def test_schema_and_decoder_refuse_the_same_values(example: Path) -> None:
    fields = json.loads(example.read_bytes())
    validator = Draft202012Validator(schema_for(example))
    for name in fields:
        if name == "event":
            continue
        wrong = {**fields, name: [{"not": "this"}]}
        assert not validator.is_valid(wrong), name
        with pytest.raises(Poison):
            value = json.dumps({"event": kind_of(example), **wrong}).encode()
            decode(Record(topic_of(example), 0, 0, "", value))


@pytest.mark.parametrize("earlier", EARLIER)
def test_newer_version_contains_the_earlier_one(earlier: str) -> None:
    before, after = (
        json.loads((SCHEMAS / "events" / name).read_bytes()) for name in (earlier, EARLIER[earlier])
    )
    broken = [one for one in breaks(before, after) if ".version: the default" not in one]
    assert [one for one in broken if not one.endswith(UNRELEASED)] == []


# Compatibility with committed versions.


def git(*arguments: str) -> str | None:
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


THERE = [ref for ref in REFERENCES if git("ls-tree", "--name-only", ref, "schemas/events/")]


IS_RELEASED = bool(re.search(r"^## \[?\d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE))
"""After the first release nothing is removed or renamed."""
references = pytest.mark.parametrize(
    "reference", THERE or [pytest.param("", id="there is no earlier commit with schemas")]
)


def committed_files(reference: str, folder: str) -> Iterator[tuple[str, str, Path]]:
    """Yield the path of each file in *folder* at *reference*, its text, and its current place."""
    listed = git("ls-tree", "--name-only", reference, f"schemas/{folder}/") if reference else ""
    for path in (listed or "").split():
        yield path, git("show", f"{reference}:./{path}") or "", ROOT / path


@references
def test_committed_schemas_are_compatible_in_both_directions(reference: str) -> None:
    for path, text, there in committed_files(reference, "events"):
        if not there.exists():
            assert not IS_RELEASED, f"{path} was removed"
            continue
        before, after = json.loads(text), json.loads(there.read_bytes())
        allowed = NARROWED + (() if IS_RELEASED else UNRELEASED)
        broken = [one for one in breaks(before, after) if not one.endswith(allowed)]
        assert broken == [], f"{path} can no longer read what {reference} wrote"
        broken = [one for one in breaks_older(before, after) if not one.endswith(allowed)]
        assert broken == [], f"{reference} cannot read what {path} allows"


@pytest.mark.skipif(not IS_RELEASED, reason="before the first release topics and tables may change")
@references
def test_committed_topics_and_tables_still_exist(reference: str) -> None:
    for path, text, there in committed_files(reference, "topics"):
        topic = yaml.safe_load(there.read_bytes()) if there.exists() else None
        assert topic_breaks(yaml.safe_load(text), topic) == [], path
    for path, text, there in committed_files(reference, "cassandra"):
        assert table_breaks(text, there.read_text() if there.exists() else None) == [], path
