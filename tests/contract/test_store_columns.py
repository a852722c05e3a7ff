"""Columns of every kind come back as they went, and new ones may be added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Discovery, Verdict
from gossamer.store import Row
from gossamer.web.robots import RobotsRules
from tests.contract.conftest import Data


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


class Before(Row, frozen=True):
    """A row as an older version of the program knew it."""

    table = "grown"
    partition_key = "part"
    part: str


class After(Row, frozen=True):
    """The same with new columns."""

    table = "grown"
    partition_key = "part"
    part: str
    number: int = 7
    rules: RobotsRules = RobotsRules(crawl_delay=3.0)
    maybe: str | None = "so"


def test_none_is_none_and_no_default(data: Data) -> None:
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


@pytest.mark.slow
def test_any_value_comes_back_as_it_went(data: Data) -> None:
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
        )
    )
    def comes_back(row: Everything) -> None:
        writer.store.table(Everything).put(row)
        writer.store.flush()
        assert reader.store.table(Everything).get(row.part) == row

    comes_back()


def test_a_new_column_has_its_default_in_older_rows(data: Data) -> None:
    old = data.open().store
    old.table(Before).put(Before("p"))
    old.flush()
    new = data.open().store
    assert new.table(After).get("p") == After("p")
    new.table(After).put(After("q", number=8, maybe=None))
    new.flush()
    assert data.open().store.table(After).get("q") == After("q", number=8, maybe=None)
    assert data.open().store.table(Before).get("q") == Before("q")
