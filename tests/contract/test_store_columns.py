"""Columns of every kind, in groups or not, have their values after a read, and columns may be
added."""

import subprocess
import sys
from typing import NewType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Discovery, Verdict
from gossamer.store import ColumnGroup, Row
from gossamer.store.columns import columns_of
from gossamer.web.robots import RobotsRules
from tests.contract.conftest import Data

Name = NewType("Name", str)


class Span(ColumnGroup, frozen=True):
    """A group of columns, of which some may be null."""

    count: int = 0
    until: float | None = None
    rules: RobotsRules = RobotsRules()
    verdict: Verdict | None = None
    name: Name | None = None


class Everything(Row, frozen=True):
    """A column of each kind."""

    table = "everything"
    partition_key = "part"
    part: str
    whole: int
    real: float
    yes: bool
    raw: bytes
    verdict: Verdict
    rules: RobotsRules
    urls: tuple[Discovery, ...]
    counts: dict[str, int]
    maybe: str | None
    number: int | None = 5
    nothing: RobotsRules | None = None
    span: Span = Span()
    after: str | None = None
    name: Name = Name("")


class Nested(Row, frozen=True):
    """A row with two groups of the same columns."""

    table = "nested"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    first: Span = Span()
    second: Span = Span(count=1)
    text: str = ""


class Flat(Row, frozen=True):
    """The table of `Nested` as an operator sees it."""

    table = "nested"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    first_count: int = 0
    first_until: float | None = None
    first_rules: RobotsRules = RobotsRules()
    first_verdict: Verdict | None = None
    first_name: str | None = None
    second_count: int = 1
    second_until: float | None = None
    second_rules: RobotsRules = RobotsRules()
    second_verdict: Verdict | None = None
    second_name: str | None = None
    text: str = ""


class OlderRow(Row, frozen=True):
    """A row in an older version of the program."""

    table = "grown"
    partition_key = "part"
    part: str


class NewerRow(Row, frozen=True):
    """The row of `OlderRow` with new columns."""

    table = "grown"
    partition_key = "part"
    part: str
    span: Span = Span(count=3)
    number: int = 7
    rules: RobotsRules = RobotsRules(crawl_delay=3.0)
    maybe: str | None = "so"


class Keywords(Row, frozen=True, kw_only=True):
    """A row whose fields are keyword-only."""

    table = "keywords"
    partition_key = "part"
    part: str
    span: Span = Span()
    text: str


NESTED = (
    Nested("p", 1),
    Nested("p", 2, Span(3, 4.5, RobotsRules(crawl_delay=1.0), Verdict.FIRST, Name("n")), text="x"),
    Nested("p", 3, Span(until=0.0), Span(7)),
)


def test_column_groups_have_their_values_after_a_read(data: Data) -> None:
    table = data.open().store.table(Nested)
    for row in NESTED:
        table.put(row)
    data.opened[-1].store.flush()
    stored = data.open().store.table(Nested)
    assert stored.get("p", 2) == NESTED[1]
    assert stored.get_all([("p", 3)]) == [NESTED[2]]
    assert stored.scan("p") == [*NESTED]
    assert sorted(stored.everything(), key=lambda row: row.n) == [*NESTED]
    assert stored.put_if_absent(Nested("p", 3)) == NESTED[2]


def test_row_with_keyword_fields_has_its_values_after_a_read(data: Data) -> None:
    row = Keywords(part="p", span=Span(2), text="x")
    store = data.open().store
    store.table(Keywords).put(row)
    store.flush()
    assert data.open().store.table(Keywords).get("p") == row


def test_null_replaces_the_value_of_a_group(data: Data) -> None:
    store = data.open().store
    for row in (NESTED[2], Nested("p", 3)):
        store.table(Nested).put(row)
        store.flush()
    assert data.open().store.table(Nested).get("p", 3) == Nested("p", 3)


def test_columns_of_a_group_are_flat(data: Data) -> None:
    store = data.open().store
    for row in NESTED:
        store.table(Nested).put(row)
    store.flush()
    assert [column.name for column in columns_of(Nested)] == [*Flat.__struct_fields__]
    assert data.open().store.table(Flat).scan("p", limit=2) == [
        Flat("p", 1),
        Flat("p", 2, 3, 4.5, RobotsRules(crawl_delay=1.0), Verdict.FIRST, "n", text="x"),
    ]


def test_column_group_without_a_default_is_an_error() -> None:
    class Missing(Row, frozen=True):
        part: str
        span: Span

    class Absent(Row, frozen=True):
        part: str
        span: Span | None = None

    for row in (Missing, Absent):
        with pytest.raises(TypeError, match=r"span needs a group of columns as its default"):
            columns_of(row)


def test_two_columns_with_one_name_are_an_error() -> None:
    class Twice(Row, frozen=True):
        part: str
        span_count: int = 0
        span: Span = Span()

    with pytest.raises(TypeError, match="two columns of Twice"):
        columns_of(Twice)


def test_none_is_stored_and_not_replaced_by_the_default(data: Data) -> None:
    row = everything(maybe=None, number=None)
    data.open().store.table(Everything).put(row)
    data.opened[-1].store.flush()
    assert data.open().store.table(Everything).get("p") == row


def everything(**columns: object) -> Everything:
    values = dict(
        part="p",
        whole=-(2**63),
        real=0.1,
        yes=True,
        raw=b"\0\xff",
        verdict=Verdict.CHANGED,
        rules=RobotsRules(lines="3 + /a*", crawl_delay=2.5),
        urls=(Discovery("https://example.org/", depth=2),),
        counts={"é": 1},
        maybe="x",
    )
    return Everything(**{**values, **columns})  # type: ignore[arg-type]


texts = st.text(st.characters(exclude_categories=["Cs"]))
wholes = st.integers(-(2**63), 2**63 - 1)
spans = st.builds(
    Span,
    wholes,
    st.none() | st.floats(allow_nan=False),
    verdict=st.none() | st.sampled_from(Verdict),
    name=st.none() | texts.map(Name),
)


@pytest.mark.slow
def test_random_values_are_the_same_after_a_read(data: Data) -> None:
    writer, reader = data.open(), data.open()

    @given(
        st.builds(
            Everything,
            part=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
            whole=wholes,
            real=st.floats(allow_nan=False),
            yes=st.booleans(),
            raw=st.binary(),
            verdict=st.sampled_from(Verdict),
            maybe=st.none() | texts,
            rules=st.builds(RobotsRules, forbidden=texts),
            counts=st.dictionaries(texts, wholes),
            urls=st.lists(st.builds(Discovery, url=texts)).map(tuple),
            number=st.none() | wholes,
            nothing=st.none() | st.builds(RobotsRules, forbidden=texts),
            span=spans,
            after=st.none() | texts,
            name=texts.map(Name),
        )
    )
    def check(row: Everything) -> None:
        writer.store.table(Everything).put(row)
        writer.store.flush()
        assert reader.store.table(Everything).get(row.part) == row

    check()


def test_new_column_has_its_default_in_older_rows(data: Data) -> None:
    old = data.open().store
    old.table(OlderRow).put(OlderRow("p"))
    old.flush()
    new = data.open().store
    assert new.table(NewerRow).get("p") == NewerRow("p")
    new.table(NewerRow).put(NewerRow("q", number=8, maybe=None))
    new.flush()
    assert data.open().store.table(NewerRow).get("q") == NewerRow("q", number=8, maybe=None)
    assert data.open().store.table(OlderRow).get("q") == OlderRow("q")


OPENED_IN_TWO_THREADS = '''
from threading import Event, Thread
from typing import ClassVar

from msgspec import Struct

from gossamer.store import Row
from gossamer.store.columns import Codec

entered = Event()

def kind_known_late() -> type:
    """Return a type, after another thread had time to use the incomplete one."""
    if not entered.is_set():
        entered.set()
        other.join(0.5)
    return int

class Inner(Struct):
    value: "kind_known_late()"

class Outer(Struct):
    inner: Inner

class Stored(Row, frozen=True):
    table: ClassVar[str] = "stored"
    partition_key: ClassVar[str] = "key"
    key: str
    outers: tuple[Outer, ...] = ()

def decode() -> None:
    codec = Codec(Stored, lambda kind: None, ["outers"])
    print(codec.row(("a", '[{"inner": {"value": 1}}]')), flush=True)

def decode_second() -> None:
    entered.wait()
    decode()

other = Thread(target=decode_second)
other.start()
decode()
other.join()
'''


def test_codec_is_complete_before_another_thread_decodes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED_IN_TWO_THREADS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Stored(key='a'") == 2
