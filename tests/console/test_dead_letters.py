"""`gossamer dead-letters`: the list, and the topics of replayed letters."""

import base64
import json
import random
from collections.abc import Callable

import pytest

from gossamer.events.topics import DEAD_LETTERS, PAGES, SEEDS, VISITS_ENDED
from gossamer.inspection.basics.folder import Opened
from gossamer.log import Message, Record
from gossamer.log.codec import dead_letter, encode
from tests.console.gossamer import Gossamer
from tests.runtime.processors import drain

Command = Callable[..., str]


@pytest.fixture
def crawl_folder(gossamer: Gossamer) -> Opened:
    """Return a folder with three letters of two services, and an invalid record."""
    crawl_folder = gossamer.open()
    buried = [
        (Record(SEEDS.name, 1, 7, "k", b"\xff\0"), "dedup", "no \x1b[31m URL"),
        (Record(PAGES.name, 0, 8, "default/https://www.a.example/x", b"page"), "dedup", "large"),
        (Record(VISITS_ENDED.name, 2, 9, "a.example", b"?"), "frontier", "not an event"),
    ]
    crawl_folder.log.append([Message(DEAD_LETTERS.name, "x", b"garbage", "x")])
    for record, service, reason in buried:
        crawl_folder.log.append([encode(dead_letter(record, service, reason, 86400.0 * 365))])
    return crawl_folder


@pytest.fixture
def command(crawl_folder: Opened, gossamer: Gossamer) -> Command:
    """Return the command on that folder; it returns its output."""
    return lambda word, *words, **status: gossamer(f"dead-letters {word}", *words, **status)


def names(shown: str) -> list[str]:
    return [line.split()[0] for line in shown.splitlines()]


def stored_records(crawl_folder: Opened, *topics: str) -> list[tuple[str, str, bytes]]:
    return sorted((r.topic, r.key, r.value) for r in drain(crawl_folder.log.tail(topics)))


def test_line_has_time_service_position_and_reason(command: Command) -> None:
    command("list")
    command("list", "--service", "frontier")
    command("list", "--service", "archive")


def test_json_has_the_whole_letter(command: Command) -> None:
    found = [json.loads(line) for line in command("list", "--json").splitlines()]
    (seed,) = (letter for letter in found if letter["topic"] == "seeds")
    assert base64.b64decode(seed["value"]) == b"\xff\0"
    assert (seed["reason"], seed["key"], seed["offset"]) == ("no \x1b[31m URL", "k", 7)
    assert {letter["letter"] for letter in found} == set(names(command("list")))


def test_replay_appends_letters_to_their_topics(command: Command, crawl_folder: Opened) -> None:
    command("replay", "--all")
    assert stored_records(crawl_folder, "seeds", "pages", "visits.ended") == [
        ("pages", "default/https://www.a.example/x", b"page"),
        ("seeds", "k", b"\xff\0"),
        ("visits.ended", "a.example", b"?"),
    ]
    page, ended = (drain(crawl_folder.log.tail([topic]))[0] for topic in ("pages", "visits.ended"))
    assert page.partition == ended.partition, "both are of one site"


def test_letter_that_cannot_be_replayed_does_not_stop_the_others(
    command: Command, crawl_folder: Opened
) -> None:
    value = random.Random(1).randbytes(1_048_588)
    for topic in (SEEDS.name, "unknown"):
        letter = dead_letter(Record(topic, 1, 99, "k", value), "dedup", "why", 1.0)
        crawl_folder.log.append([encode(letter)])
    command("replay", "--all", status=1)
    assert len(stored_records(crawl_folder, "seeds", "pages", "visits.ended")) == 3


def test_replay_appends_the_named_letters_only(command: Command, crawl_folder: Opened) -> None:
    (name,) = names(command("list", "--service", "frontier"))
    command("replay", name)
    command("replay", "--all", "--service", "frontier")
    assert (
        stored_records(crawl_folder, "seeds", "pages", "visits.ended")
        == [
            ("visits.ended", "a.example", b"?"),
        ]
        * 2
    )


def test_invalid_replay_appends_nothing(command: Command, crawl_folder: Opened) -> None:
    command("replay", status=2)
    command("replay", "0/1", "--all", status=2)
    command("replay", "2/1", "9/99", "x", status=1)
    assert stored_records(crawl_folder, "seeds", "pages", "visits.ended") == []
