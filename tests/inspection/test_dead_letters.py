"""Dead letters by pages: the pages together are the whole list, and each letter is described."""

import base64

import pytest

from gossamer.errors import BadSettings
from gossamer.events.topics import DEAD_LETTERS, SEEDS
from gossamer.inspection.crawls import dead_letters
from gossamer.inspection.crawls.dead_letters import MAX_PREVIEW, iterate_letters, read_letters
from gossamer.log import Log, Message, Record
from gossamer.log.codec import dead_letter, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database

BYTES = b"\xff\0 <script>"


def bury(log: Log, number: int, service: str = "dedup", value: bytes = BYTES) -> None:
    key = f"http://{number}.example/"
    record = Record(SEEDS.name, number % 4, number, key, value)
    log.append([encode(dead_letter(record, service, "not a URL", float(number)))])


@pytest.fixture
def log() -> Log:
    """Return a log with 30 letters of two services, an invalid record and an erased letter."""
    log = SqliteLog(Database(":memory:"))
    for number in range(30):
        bury(log, number, "parser" if number % 3 else "dedup")
    log.append([Message(DEAD_LETTERS.name, "x", b"garbage", "x")])
    log.append([Message(DEAD_LETTERS.name, "x", b"", "x")])
    return log


def pages(log: Log, service: str | None, limit: int) -> list[list[str]]:
    found, after = list[list[str]](), None
    while True:
        page = read_letters(log, service, after, limit)
        found.append([letter.name for letter in page.items])
        if (after := page.next) is None:
            return found


@pytest.mark.parametrize("service", [None, "dedup", "parser", "nobody"])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_are_the_whole_list(log: Log, service: str | None, limit: int) -> None:
    expected = [name for name, _, _ in iterate_letters(log, service)]
    found = pages(log, service, limit)
    assert [name for page in found for name in page] == expected
    assert all(len(page) <= limit for page in found)


def test_named_letters_are_found_without_the_others(log: Log) -> None:
    names = [name for name, _, _ in iterate_letters(log)]
    for chosen in ([names[0]], names[3:9:2], [names[-1], names[1]], names):
        found = [name for name, _, _ in iterate_letters(log, names=chosen)]
        assert sorted(found) == sorted(chosen)
    assert not [*iterate_letters(log, names=["99/0", "0/99999", "x", names[0].replace("/", "//")])]
    assert not [*iterate_letters(log, names=[])]


def test_letter_that_arrives_between_two_pages_is_on_the_next(log: Log) -> None:
    first = read_letters(log, limit=10)
    bury(log, 99)
    rest = read_letters(log, after=first.next, limit=100)
    assert 99.0 in [letter.at for letter in rest.items]
    assert len(first.items) + len(rest.items) == 31


def test_page_that_reads_too_much_is_partial(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "MAX_READ_LETTERS", 5)
    page = read_letters(log, "nobody")
    assert page.is_partial and page.next and not page.items
    assert len([name for names in pages(log, None, 100) for name in names]) == 30


def test_letter_has_its_bytes_and_whether_it_can_be_replayed(log: Log) -> None:
    letter = read_letters(log, limit=1).items[0]
    assert base64.b64decode(letter.value) == BYTES and letter.is_whole
    assert letter.preview == "\ufffd\0 <script>" and letter.size == len(BYTES)
    assert letter.no_replay == "" and letter.reason == "not a URL" and letter.topic == "seeds"


def test_large_letter_is_shown_in_part(log: Log) -> None:
    bury(log, 50, value=b"x" * 10_000)
    (letter,) = (one for one in read_letters(log).items if one.at == 50.0)
    assert len(letter.preview) == MAX_PREVIEW and letter.size == 10_000 and not letter.is_whole


def test_log_without_letters_has_an_empty_page() -> None:
    assert read_letters(SqliteLog(Database(":memory:"))).items == ()


@pytest.mark.parametrize("cursor", ["", "1", "1/2,3/x", "1/2,"])
def test_invalid_cursors_are_refused(log: Log, cursor: str) -> None:
    with pytest.raises(BadSettings, match="cursor"):
        read_letters(log, after=cursor)
