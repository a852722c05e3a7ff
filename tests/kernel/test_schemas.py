"""The contract in `schemas/` is what the code does, and only ever grows."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator

from gossamer.codec import decode, encode
from gossamer.log import Record
from gossamer.log.kafka_topics import wanted
from gossamer.servers import KafkaSettings
from gossamer.topics import OVERHEAD, SITE_KEYED, TOPICS, Keep, Topic
from schemas import generate
from schemas.compatible import Schema, breaks

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
EXAMPLES = sorted(path for path in SCHEMAS.glob("examples/*/*/*") if path.is_file())
JSON_EXAMPLES = [path for path in EXAMPLES if path.suffix == ".json"]
REFERENCES = ("main", "origin/main", "HEAD", "HEAD~1")
"""On a branch it is main that counts; on main itself, freshly cloned, the commit before."""


def described(topic: str) -> dict[str, Any]:
    text = (SCHEMAS / "topics" / f"{topic}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def topic_of(example: Path) -> str:
    return example.parts[-3]


def schema_for(example: Path) -> Schema:
    version = int(example.parts[-2])
    (found,) = (s for s in described(topic_of(example))["schemas"] if s["version"] == version)
    schema: Schema = json.loads((SCHEMAS / found["resource"]).read_text(encoding="utf-8"))
    return schema


def record(example: Path) -> Record:
    return Record(topic_of(example), 0, 0, "", example.read_bytes())


def short(path: Path) -> str:
    return str(path.relative_to(SCHEMAS))


def test_every_topic_is_described_and_nothing_else_is() -> None:
    assert {path.name for path in (SCHEMAS / "topics").iterdir()} == {f"{t}.yaml" for t in TOPICS}


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_a_topic_is_described_as_it_is(topic: Any) -> None:
    says = described(topic.name)
    assert set(says) - {"retention", "segment"} == {
        "description",
        "event",
        "key",
        "partitioned_by",
        "keep",
        "partitions",
        "replication",
        "max_message_bytes",
        "producers",
        "consumers",
        "schemas",
    }
    assert says["description"].strip()
    assert says["event"] == topic.event.__struct_config__.tag
    assert says["keep"] == topic.keep.value
    assert tuple(says["producers"]) == topic.writers
    assert tuple(says["consumers"]) == topic.readers
    newest = says["schemas"][-1]
    assert newest["resource"] == f"events/{generate.file_name(topic.event)}"
    for schema in says["schemas"]:
        assert set(schema) == {"version", "compatibility", "resource", "examples"}
        assert schema["compatibility"] == "backward"
        assert schema["resource"].endswith(f".v{schema['version']}.json")
        for folder in schema["examples"]:
            assert folder == f"examples/{topic.name}/{schema['version']}/"
            assert list((SCHEMAS / folder).glob("*.json")), f"{folder} has no example"


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_a_topic_says_what_brokers_are_to_do_with_it(topic: Topic) -> None:
    says = described(topic.name)
    assert says["max_message_bytes"] == topic.limit + OVERHEAD
    by_site = {described(name)["partitions"] for name in SITE_KEYED}
    assert says["partitions"] in by_site or topic.name not in SITE_KEYED
    assert len(by_site) == 1, "what belongs to a site has one partition number over all topics"
    assert ("retention" in says) == (topic.keep is not Keep.FOREVER)
    assert ("segment" in says) == (topic.keep is Keep.NEWEST)
    assert (topic.name in SITE_KEYED) == (says["partitioned_by"] == "site")


def test_every_schema_and_every_example_belongs_to_a_topic() -> None:
    resources = {s["resource"] for topic in TOPICS for s in described(topic)["schemas"]}
    assert {short(path) for path in (SCHEMAS / "events").iterdir()} == resources
    folders = {f for t in TOPICS for s in described(t)["schemas"] for f in s["examples"]}
    assert {short(path.parent) + "/" for path in EXAMPLES} == folders


def test_the_schemas_are_those_of_the_structs() -> None:
    for name, schema in generate.all_schemas().items():
        path = SCHEMAS / "events" / name
        assert path.exists() and json.loads(path.read_bytes()) == schema, (
            f"{name} is not what gossamer/events.py says: run scripts/schemas"
        )
        Draft202012Validator.check_schema(schema)
        assert schema["title"] and schema["description"]


def test_the_script_writes_what_lies_here(tmp_path: Path) -> None:
    generate.main(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (SCHEMAS / "events" / path.name).read_bytes()


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=short)
def test_an_example_is_valid(example: Path) -> None:
    Draft202012Validator(schema_for(example)).validate(json.loads(example.read_bytes()))


@pytest.mark.parametrize("example", EXAMPLES, ids=short)
def test_an_example_is_read_and_written_again(example: Path) -> None:
    event = decode(record(example))
    message = encode(event)
    says = described(topic_of(example))
    assert message.topic == topic_of(example)
    assert message.key == getattr(event, says["key"])
    assert message.place == getattr(event, says["partitioned_by"])
    assert decode(Record(message.topic, 0, 0, message.key, message.value)) == event
    written = json.loads(message.value)
    Draft202012Validator(schema_for(example)).validate(written)
    if example.suffix == ".json":
        assert _within(json.loads(example.read_bytes()), written), "something is not read"


def _within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return all(name in whole and _within(part[name], whole[name]) for name in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return bool(part == whole)


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=short)
def test_a_schema_and_the_decoder_agree_on_what_is_wrong(example: Path) -> None:
    fields = json.loads(example.read_bytes())
    validator = Draft202012Validator(schema_for(example))
    for name in fields:
        if name == "event":
            continue
        wrong = {**fields, name: [{"not": "this"}]}
        assert not validator.is_valid(wrong), name
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(
                json.dumps({"event": described(topic_of(example))["event"], **wrong}),
                type=TOPICS[topic_of(example)].event,
            )


# What is committed, and whether it can still be read.


def git(*arguments: str) -> str | None:
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


THERE = [ref for ref in REFERENCES if git("ls-tree", "--name-only", ref, "schemas/events/")]


@pytest.mark.parametrize(
    "reference", THERE or [pytest.param("", id="there is no earlier commit with schemas")]
)
def test_what_was_committed_can_still_be_read(reference: str) -> None:
    listed = git("ls-tree", "--name-only", reference, "schemas/events/") if reference else ""
    for path in (listed or "").split():
        before = json.loads(git("show", f"{reference}:./{path}") or "")
        assert (ROOT / path).exists(), f"{path} is gone"
        after = json.loads((ROOT / path).read_bytes())
        assert breaks(before, after) == [], f"{path} can no longer read what {reference} wrote"


def test_what_is_installed_holds_the_topics() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    assert "schemas" in built["build"]["targets"]["wheel"]["packages"]
    assert {wish.name for wish in wanted(KafkaSettings())} == set(TOPICS)
