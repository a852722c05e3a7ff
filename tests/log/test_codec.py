"""Encoding and decoding of events. Invalid records are poison."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer import events
from gossamer.errors import Newer, Poison
from gossamer.events import (
    PRIORITY_LIMIT,
    Blob,
    ChangedSetting,
    CrawlDefined,
    DeadLetter,
    Discovery,
    Event,
    HostOverridden,
    Outcome,
    Page,
    PageDeduplicated,
    PageFetched,
    PageParsed,
    SeedAdded,
    SharedCapture,
    SiteOverridden,
    Speed,
    Tombstone,
    Verdict,
    Visit,
    VisitEnded,
    topics,
)
from gossamer.events.control import MAX_SHARE_SECONDS
from gossamer.log import Headers, Message, Record
from gossamer.log.codec import (
    MAX_LETTER_BYTES,
    dead_letter,
    decode,
    encode,
    message_of_letter,
    tombstone,
    value_of_letter,
)
from gossamer.web.url import HostKey, Site
from gossamer.web.usage import License, Statement

KINDS = list(topics.TOPIC_OF)
EXAMPLES = Path(__file__).resolve().parents[2] / "schemas" / "examples"


@pytest.fixture(autouse=True, scope="module")
def finite() -> Iterator[None]:
    """Draw finite numbers only, because JSON has no infinities."""
    st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
    yield
    st.register_type_strategy(float, st.floats())


def record(topic: str, value: bytes, key: str = "k") -> Record:
    return Record(topic, 1, 2, key, value)


def example(kind: type[Event]) -> dict[str, Any]:
    """The fields of an example of *kind*."""
    for path in sorted((EXAMPLES / topics.TOPIC_OF[kind].name).glob("*/*.json")):
        fields: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        if fields.get("event") == kind.__struct_config__.tag:
            return fields
    raise LookupError(kind)


def to_record(message: Message) -> Record:
    return record(message.topic, message.value, message.key)


def instances(kind: type[Any]) -> st.SearchStrategy[Any]:
    # Every field, also fields with a default, which hypothesis omits by itself.
    hints = get_type_hints(kind)
    fields = {name: st.from_type(hints[name]) for name in kind.__struct_fields__}
    narrow: dict[str, st.SearchStrategy[Any]] = {
        "version": st.integers(max_value=1),
        "priority": st.integers(-PRIORITY_LIMIT, PRIORITY_LIMIT),
        "every": st.floats(0, 1e9),
        "linked_at": st.floats(0, 1e9),
        "weight": st.floats(0, 1e6, exclude_min=True),
        "share_for": st.floats(0, MAX_SHARE_SECONDS),
        "before": st.dictionaries(st.text(), st.text()),
        "after": st.dictionaries(st.text(), st.text()),
    }
    if kind is Discovery:
        narrow["novelty"] = st.none() | st.floats(0, 1)
    if kind in (Discovery, Visit):
        narrow["score"] = st.none() | st.floats(0, 1)
    if kind is SharedCapture:
        narrow["at"] = st.floats(0, 1e10)
    if kind in (HostOverridden, SiteOverridden, Speed):
        some = st.none() | st.floats(0, 1e6)
        narrow |= {"budget": st.integers(0, 10**6), "delay": some, "pages": some, "bytes": some}
    fields |= {name: narrow[name] for name in narrow.keys() & fields.keys()}
    return st.fixed_dictionaries(fields).map(lambda drawn: kind(**drawn))


st.register_type_strategy(ChangedSetting, instances(ChangedSetting))
st.register_type_strategy(SharedCapture, instances(SharedCapture))
st.register_type_strategy(Discovery, instances(Discovery))
st.register_type_strategy(Visit, instances(Visit))
st.register_type_strategy(Speed, instances(Speed))
st.register_type_strategy(License, instances(License))
st.register_type_strategy(Statement, instances(Statement))


@pytest.mark.slow
@pytest.mark.parametrize("examples", [10, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_event_survives_encoding_and_decoding(kind: type[Event], examples: int) -> None:
    @settings(max_examples=examples)
    @given(instances(kind))
    def check(event: Event) -> None:
        message = encode(event)
        assert message.topic == topics.TOPIC_OF[kind].name
        if not isinstance(event, SeedAdded):
            assert decode(to_record(message)) == event

    check()


def test_every_event_has_a_topic() -> None:
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type)}
    assert {k for k in kinds if issubclass(k, Event) and k is not Event} == set(KINDS)


def test_event_is_one_tagged_json_object() -> None:
    event = DeadLetter(at=1.5, service="s", topic="t", partition=0, offset=1, key="k",
                       reason="é", value=b"\0\xff")  # fmt: skip
    written = json.loads(encode(event).value)
    assert written["event"] == "dead_letter"
    assert (written["version"], written["crawl"], written["at"]) == (1, "default", 1.5)
    assert written["value"] == "AP8="


PAGE = Page(
    at=1.0, url="https://example.org/a", site=Site("example.org"), status=200, fetched_at=1.0,
    content_type="text/html", title="", description="", language="en", text=None, links=(),
    verdict=events.Verdict.FIRST, duplicate_of="", digest="", depth=0, via="", canonical="",
    noindex=False, truncated=False, hazards=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("event", "key", "partition_key"),
    [
        (PAGE, "default/https://example.org/a", "example.org"),
        (replace(PAGE, crawl="news"), "news/https://example.org/a", "example.org"),
        (
            Tombstone("news", "https://example.org/a", Site("example.org")),
            "news/https://example.org/a",
            "example.org",
        ),
        (SeedAdded(url="https://a/"), "https://a/", "https://a/"),
        (CrawlDefined(at=0.0, crawl="c", scope="any()", max_depth=1), "crawl_defined/c", "c"),
        (events.UrlsAdmitted(at=0.0, site=Site("a.org"), via="v", urls=()), "a.org", "a.org"),
    ],
)
def test_keys_and_partition_keys(event: Event | Tombstone, key: str, partition_key: str) -> None:
    message = encode(event)
    assert (message.key, message.partition_key) == (key, partition_key)


def test_headers_of_page_describe_it() -> None:
    page = replace(PAGE, crawl="news", trace="ab", content_type="application/pdf")
    assert dict(encode(page).headers) == {
        "event": "page",
        "version": "2",
        "crawl": "news",
        "verdict": "first",
        "trace": "ab",
        "content-type": "application/pdf",
    }


def test_headers_of_capture_have_its_crawl_and_the_id_of_its_document() -> None:
    capture = events.PageArchived(
        at=1.0, crawl="news", url=PAGE.url, site=PAGE.site, fetched_at=1.0, status=200,
        content_type="", digest="", file="f", offset=0, length=1, trace="ab",
    )  # fmt: skip
    assert dict(encode(capture).headers) == {
        "event": "page_archived",
        "version": "1",
        "crawl": "news",
        "trace": "ab",
    }


OVERSIZED_BYTES = 2 * topics.PAGES.limit
FAR = tuple(events.Link(f"https://example.org/{n}") for n in range(5000))


def test_too_large_document_is_cut_in_the_text_last() -> None:
    page = replace(PAGE, text="text " * 1000, outlinks=(events.Link("x" * OVERSIZED_BYTES),) * 2)
    fitting = decode(to_record(encode(replace(page, links=("https://example.org/",)))))
    assert isinstance(fitting, Page)
    assert (fitting.cut, fitting.outlinks) == (("outlinks",), ())
    assert (fitting.text, fitting.links) == (page.text, ("https://example.org/",))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a" * OVERSIZED_BYTES, "\0" * OVERSIZED_BYTES, "\0ä" * OVERSIZED_BYTES]
)
def test_too_large_text_keeps_its_beginning(text: str) -> None:
    message = encode(replace(PAGE, text=text, links=("https://example.org/",)))
    page = decode(to_record(message))
    assert isinstance(page, Page) and page.text is not None
    assert 0.9 * topics.PAGES.limit < len(message.value) <= topics.PAGES.limit
    assert (page.cut[-1], text.startswith(page.text)) == ("text", True)


@pytest.mark.parametrize("letter", ["a", "\u6f22", "\x01"])
def test_large_text_of_a_page_without_other_large_fields_is_cut(letter: str) -> None:
    whole = replace(PAGE, text=letter * 3_000_000, links=(), outlinks=())
    message = encode(whole)
    page = decode(to_record(message))
    assert isinstance(page, Page) and page.text is not None
    assert 0.9 * topics.PAGES.limit < len(message.value) <= topics.PAGES.limit
    assert whole.text is not None and whole.text.startswith(page.text)
    assert page.cut == ("text",) and page.title == whole.title and page.digest == whole.digest


def test_page_with_many_links_and_large_metadata_is_reduced_by_them_alone() -> None:
    links = tuple(f"https://example.org/{number}" for number in range(100_000))
    whole = replace(PAGE, text="text " * 1000, links=links, linked_data=("x" * 2_000_000,))
    page = decode(to_record(encode(whole)))
    assert isinstance(page, Page)
    assert {*page.cut} == {"links", "linked_data"}
    assert (page.text, page.title, page.digest) == (whole.text, whole.title, whole.digest)


def test_links_of_too_large_page_are_kept() -> None:
    visit = Visit("1", "https://example.org/")
    page = events.PageParsed(
        at=1.0, site=Site("example.org"),
        host=HostKey("https://example.org"), visit=visit, fetched_at=1.0,
        status=200, links=FAR, text="a" * OVERSIZED_BYTES, alternates={"a": "b" * OVERSIZED_BYTES},
    )  # fmt: skip
    fitting = decode(to_record(encode(page)))
    assert isinstance(fitting, events.PageParsed)
    assert (fitting.links, fitting.cut) == (FAR, ("alternates", "text"))


def test_tombstone_has_empty_value() -> None:
    message = encode(Tombstone(PAGE.crawl, PAGE.url, PAGE.site))
    assert (message.topic, message.value) == ("pages", b"")
    assert message.key == encode(PAGE).key


def test_tombstone_headers_contain_the_reason() -> None:
    gone = Tombstone(
        "news",
        PAGE.url,
        PAGE.site,
        verdict=Verdict.REDIRECT,
        redirects_to="http://b.example/",
        reason="moved",
        at=1700000000.25,
        status=301,
        trace="t",
    )
    message = encode(gone)
    assert dict(message.headers) == {
        "event": "tombstone",
        "crawl": "news",
        "verdict": "redirect",
        "redirects_to": "http://b.example/",
        "reason": "moved",
        "at": "1700000000.25",
        "status": "301",
        "trace": "t",
    }
    record = Record("pages", 0, 0, message.key, message.value, message.headers)
    assert tombstone(record) == replace(gone, site="")
    assert dict(encode(Tombstone("c", PAGE.url, PAGE.site, reason="missing")).headers) == {
        "event": "tombstone",
        "crawl": "c",
        "verdict": "gone",
        "reason": "missing",
        "at": "0.0",
        "status": "0",
        "trace": "",
    }


@pytest.mark.parametrize("headers", [(), (("at", "soon"),), (("url", "x"), ("more", ""))])
def test_tombstone_without_headers_is_decoded(headers: Headers) -> None:
    record = Record("pages", 0, 0, f"news/{PAGE.url}", b"", headers)
    assert tombstone(record) == Tombstone("news", PAGE.url, Site(""))


GARBAGE = [
    b"", b" ", b"{", b"[]", b"null", b"5", b'"text"', b"\xff\xfe", b"\0", b"{}", b'{"event": 5}',
    b"[" * 100_000, b'{"a":' * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("topic", [name for name in topics.TOPICS if name != "seeds"])
def test_garbage_is_poison(topic: str) -> None:
    for value in GARBAGE:
        with pytest.raises(Poison, match=f"not an event of {topic}: "):
            decode(record(topic, value))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not SeedAdded])
def test_event_without_required_fields_is_poison(kind: type[Event]) -> None:
    value = msgspec.json.encode({"event": kind.__struct_config__.tag})
    with pytest.raises(Poison, match="not an event of"):
        decode(record(topics.TOPIC_OF[kind].name, value))


@given(st.sampled_from(sorted(topics.TOPICS)), st.binary())
def test_arbitrary_bytes_are_an_event_or_poison(topic: str, value: bytes) -> None:
    try:
        assert topics.TOPIC_OF[type(decode(record(topic, value)))].name == topic
    except Poison as poison:
        assert str(poison)


@pytest.mark.parametrize("topic", [name for name in topics.TOPICS if name != "seeds"])
def test_unknown_kind_raises_newer(topic: str) -> None:
    with pytest.raises(Newer, match="no_such, version 3: unknown kind of event"):
        decode(record(topic, b'{"event": "no_such", "version": 3, "at": "now"}'))


@pytest.mark.parametrize(
    ("kind", "name"), [(PageDeduplicated, "verdict"), (PageParsed, "kind"), (Page, "verdict")]
)
def test_unknown_enumeration_value_raises_newer(kind: type[Event], name: str) -> None:
    topic, fields = topics.TOPIC_OF[kind].name, example(kind)
    with pytest.raises(Newer, match=f"{fields['event']}: .*unheard.*{name}"):
        decode(record(topic, msgspec.json.encode(fields | {name: "unheard"})))
    with pytest.raises(Poison, match=f"not an event of {topic}"):
        decode(record(topic, msgspec.json.encode(fields | {name: 5})))


def test_unknown_outcome_is_read_as_other() -> None:
    fields = example(VisitEnded) | {"outcome": "unheard", "hazards": ["new"]}
    event = decode(record("visits.ended", msgspec.json.encode(fields)))
    assert isinstance(event, VisitEnded)
    assert (event.outcome, event.hazards) == (Outcome.OTHER, ("new",))


def test_arbitrary_seed_never_raises_newer() -> None:
    for value in (b'{"url": "http://a.example/", "version": 7}', b'{"event": "no_such"}'):
        with pytest.raises(Poison, match="seed"):
            decode(record("seeds", value))


@given(st.sampled_from(KINDS), st.data())
def test_damaged_event_is_an_event_or_poison(kind: type[Event], data: st.DataObject) -> None:
    value = bytearray(encode(PAGE).value)
    for _ in range(data.draw(st.integers(1, 3))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(record("pages", bytes(value)))
    except Poison as poison:
        assert "not an event of pages" in str(poison)
    except Newer as newer:
        assert "page" in str(newer) or "unknown kind" in str(newer)


def test_unknown_fields_are_ignored() -> None:
    value = msgspec.json.decode(encode(PAGE).value) | {"newly": [1]}
    assert decode(record("pages", msgspec.json.encode(value))) == PAGE


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not SeedAdded])
def test_unknown_version_raises_newer(kind: type[Event]) -> None:
    newest = msgspec.structs.fields(kind)[0].default
    tag = str(kind.__struct_config__.tag)
    why = f"{tag}, version 7: this process knows versions up to {newest}"
    for fields in (example(kind) | {"version": 7}, {"event": tag, "version": 7}):
        with pytest.raises(Newer, match=why):
            decode(record(topics.TOPIC_OF[kind].name, msgspec.json.encode(fields)))


def test_event_too_large_for_its_topic_is_poison() -> None:
    fits = msgspec.structs.replace(PAGE, text="x" * (topics.PAGES.limit - 1000))
    assert len(encode(fits).value) <= topics.PAGES.limit
    with pytest.raises(Poison, match=r"for pages is too large: 99\d{4} bytes, at most 991808"):
        encode(msgspec.structs.replace(PAGE, site=Site("x" * topics.PAGES.limit)))


def test_largest_record_of_any_topic_fits_a_dead_letter() -> None:
    most = topics.MAX_RECORD_BYTES
    foreign = random.Random(1).randbytes(1_048_588)
    for value, key, reason in (
        (b"\xff" * most, "key", "why"),
        (b"\xff" * (most // 2), "\0" * (most // 2), "why"),
        (b"\xff" * most, "key", "\ud800" + "\0" * most),
        (foreign, "\0" * most, "\0" * most),
        (foreign[:MAX_LETTER_BYTES], "\0" * most, "\0" * most),
    ):
        message = encode(dead_letter(record("pages", value, key), "parser", reason, 5.0))
        assert message.size <= topics.MAX_RECORD_BYTES
        letter = decode(to_record(message))
        assert isinstance(letter, DeadLetter)
        assert value_of_letter(letter) == (value[:MAX_LETTER_BYTES] if letter.cut else value)
        assert letter.cut == (value is foreign)


def test_dead_letter_contains_the_largest_inline_body() -> None:
    body = random.Random(1).randbytes(700_000)
    fetched = replace(msgspec.convert(example(PageFetched), PageFetched), body=body)
    value = encode(fetched).value
    letter = dead_letter(record("pages.fetched", value), "parser", "why", 5.0)
    assert (letter.compressed, letter.cut) == (True, False)
    assert message_of_letter(letter).value == value


def test_cut_dead_letter_is_not_replayed() -> None:
    foreign = random.Random(1).randbytes(1_048_588)
    with pytest.raises(Poison, match="cut"):
        message_of_letter(dead_letter(record("seeds", foreign), "dedup", "why", 5.0))


def test_dead_letter_of_a_record_with_a_blob_is_not_replayed() -> None:
    blob = Blob(name="2026-11-27/x", uri="file:///blobs/x", size=1, digest="sha1:X")
    fetched = replace(msgspec.convert(example(PageFetched), PageFetched), body=b"", blob=blob)
    letter = dead_letter(record("pages.fetched", encode(fetched).value), "parser", "why", 5.0)
    with pytest.raises(Poison, match="file:///blobs/x"):
        message_of_letter(letter)


ORIGIN = "seed@seeds/1/2"


@pytest.mark.parametrize(
    ("value", "seed"),
    [
        ("https://example.org/", SeedAdded(url="https://example.org/", via=ORIGIN)),
        (" https://example.org/\r\n", SeedAdded(url="https://example.org/", via=ORIGIN)),
        ("https://example.org/é", SeedAdded(url="https://example.org/é", via=ORIGIN)),
        ("not a url at all", SeedAdded(url="not a url at all", via=ORIGIN)),
        ('{"url": "https://a/"}', SeedAdded(url="https://a/", via=ORIGIN)),
        ('\n {"url": "https://a/"}\n', SeedAdded(url="https://a/", via=ORIGIN)),
        ('{"event": "seed_added", "url": "a"}', SeedAdded(url="a", via=ORIGIN)),
        ('{"url": "a", "via": "list 7"}', SeedAdded(url="a", via="list 7")),
        (
            '{"url": "a", "priority": -5, "depth": 3, "crawl": "x", "at": 1.5}',
            SeedAdded(url="a", priority=-5, depth=3, crawl="x", at=1.5, via=ORIGIN),
        ),
    ],
)
def test_seeds_are_text_or_json(value: str, seed: SeedAdded) -> None:
    assert decode(record("seeds", value.encode())) == seed


@pytest.mark.parametrize(
    "value",
    [
        b"", b" \n", b"\xff", b"{", b"{}",
        b'{"url": 5}', b'{"url": null}', b'{"event": "page", "url": "a"}',
        b'{"url": "a", "depth": "deep"}', b'{"url": "a", "depth": -1}', b'{"url": "\\ud800"}',
        b'{"url": "a", "depth": 1' + b"0" * 30 + b"}",
        b'{"url": "a", "priority": -1' + b"0" * 30 + b"}", b'{"url":' + b"[" * 100_000,
        b'{"url": "a", "priority": 101}', b'{"url": "a", "priority": -101}',
    ],
)  # fmt: skip
def test_invalid_seed_is_poison(value: bytes) -> None:
    with pytest.raises(Poison, match="seed"):
        decode(record("seeds", value))


seeds = st.deferred(lambda: instances(SeedAdded))


@pytest.mark.slow
@given(seeds.filter(lambda seed: 0 <= seed.depth < 10**9))
def test_seed_without_via_gets_its_record(seed: SeedAdded) -> None:
    expected = seed if seed.via else msgspec.structs.replace(seed, via=ORIGIN)
    assert decode(record("seeds", encode(seed).value)) == expected


@given(st.binary(), st.text())
def test_dead_letter_contains_the_whole_record(value: bytes, reason: str) -> None:
    letter = dead_letter(Record("pages", 3, 9, "key", value), "parser", reason, 5.0)
    found = decode(to_record(encode(letter)))
    assert found == DeadLetter(
        at=5.0, service="parser", topic="pages", partition=3, offset=9, key="key",
        reason=reason, value=value, crawl=found.crawl,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("topic", "value", "crawl"),
    [
        ("pages", encode(replace(PAGE, crawl="news")).value, "news"),
        ("pages", b'{"event": "unknown", "crawl": "news"}', "news"),
        ("seeds", b'{"url": "mailto:a@b", "crawl": "news"}', "news"),
        ("seeds", b"mailto:a@b", "default"),
        ("seeds", b'{"url": "mailto:a@b", "crawl": "../news"}', "-"),
        ("pages", b'{"crawl": 5}', "-"),
        ("pages", b"\xff", "-"),
    ],
)
def test_dead_letter_names_the_crawl_of_its_record(topic: str, value: bytes, crawl: str) -> None:
    assert dead_letter(record(topic, value), "dedup", "", 1.0).crawl == crawl
