"""Unread parts of a consent file count as reserved: no limit makes a verdict wider."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.robots import parse_robots, reader
from gossamer.web.usage import (
    CATEGORIES,
    Statement,
    files,
    judge,
    limit_statements,
    rsl,
    statements,
    tdmrep,
)
from gossamer.web.usage.files import UsageFile
from gossamer.web.usage.reading import read_usage_file

HOST = "https://a.test"
TDMREP, LICENSE = f"{HOST}/.well-known/tdmrep.json", f"{HOST}/license.xml"
ROBOTS = f"{HOST}/robots.txt"
LIMITS = (
    (tdmrep, "MAX_STATEMENTS"),
    (rsl, "MAX_STATEMENTS"),
    (rsl, "MAX_WORDS"),
    (rsl, "MAX_DEPTH"),
    (files, "MAX_PATTERN_LENGTH"),
    (reader, "MAX_USAGE_LINES"),
    (reader, "MAX_USAGE_LENGTH"),
    (reader, "MAX_LICENSES"),
)
WIDTH = {False: 0, None: 1, True: 2}
paths = st.text("ab/*$%4\u00e9", max_size=6).map(lambda text: f"/{text}")
urls = st.text("ab/", max_size=8).map(lambda text: f"{HOST}/{text}")


@contextmanager
def limits_of(value: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in LIMITS:
            patch.setattr(module, name, value)
        yield


def widths(found: tuple[Statement, ...]) -> list[int]:
    judged = judge(found)
    return [WIDTH[judged[category].allowed] for category in CATEGORIES]


def assert_narrower(read: Callable[[], tuple[Statement, ...]], limit: int) -> None:
    with limits_of(100_000):
        unlimited = widths(read())
    with limits_of(limit):
        limited = widths(read())
    assert all(one <= other for one, other in zip(limited, unlimited, strict=True))


def about(body: bytes, file: str, url: str) -> tuple[Statement, ...]:
    return UsageFile(file, *read_usage_file(body, file, HOST)).statements_about(url)


entries = st.fixed_dictionaries(
    {"location": paths | st.none()},
    optional={
        "tdm-reservation": st.sampled_from([0, 1, "1", 7, None]),
        "tdm-policy": st.just("https://a.test/p"),
    },
)


@given(st.lists(entries, max_size=6), urls, st.integers(0, 5))
def test_limit_never_widens_a_tdmrep(found: list[object], url: str, limit: int) -> None:
    body = json.dumps(found).encode()
    assert_narrower(lambda: about(body, TDMREP, url), limit)


@given(st.lists(entries, min_size=1, max_size=6), urls, st.data())
def test_cut_never_widens_a_tdmrep(found: list[object], url: str, data: st.DataObject) -> None:
    body = json.dumps(found).encode()
    sign = body.find(b'"tdm-')
    if sign < 0:
        return
    end = data.draw(st.integers(sign + len(b'"tdm-'), len(body)))
    limited, whole = about(body[:end], TDMREP, url), about(body, TDMREP, url)
    assert all(map(int.__le__, widths(limited), widths(whole)))


words = st.lists(st.sampled_from(["all", "ai-all", "ai-train", "ai-input", "search"]), max_size=4)
terms = st.tuples(
    st.sampled_from(["permits", "prohibits"]), st.sampled_from(["usage", "usage", "geo"]), words
).map(lambda one: f'<{one[0]} type="{one[1]}">{" ".join(one[2])}</{one[0]}>')
payments = st.sampled_from(["", '<payment type="free"/>', '<payment type="crawl"/>'])
licenses = st.tuples(st.lists(terms, max_size=3), payments).map(
    lambda one: f"<license>{''.join(one[0])}{one[1]}</license>"
)
places = paths | st.sampled_from([HOST, f"{HOST}/a*", "https://b.test/", "", "http://["])
contents = st.tuples(places, st.lists(licenses, max_size=3)).map(
    lambda one: f'<content url="{one[0]}">{"".join(one[1])}</content>'
)
license_files = st.lists(contents, max_size=5).map(
    lambda one: f'<rsl xmlns="https://rslstandard.org/rsl">{"".join(one)}</rsl>'.encode()
)


@given(license_files, urls, st.integers(0, 5))
def test_limit_never_widens_a_license_file(body: bytes, url: str, limit: int) -> None:
    assert_narrower(lambda: about(body, LICENSE, url), limit)


@given(license_files, urls, st.data())
def test_cut_never_widens_a_license_file(body: bytes, url: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(len(b"<rsl "), len(body)))
    limited, whole = about(body[:end], LICENSE, url), about(body, LICENSE, url)
    assert all(map(int.__le__, widths(limited), widths(whole)))


values = st.lists(
    st.sampled_from(["train-ai=n", "train-ai=y", "search=y", "search=n", "ai-input=no", "x=y"]),
    min_size=1,
    max_size=3,
).map(", ".join)
lines = st.one_of(
    st.tuples(st.sampled_from(["Content-Usage", "Content-Signal"]), paths, values).map(
        lambda one: f"{one[0]}: {one[1]} {one[2]}"
    ),
    st.sampled_from(["Disallow: /x", "User-agent: *", "User-agent: otherbot"]),
)
robots_files = st.lists(lines, max_size=8).map(
    lambda one: "\n".join(["User-agent: *", *one, ""]).encode()
)


def usage_of(body: bytes, url: str, cut: bool = False) -> tuple[Statement, ...]:
    return parse_robots(body, "gossamer", 0.0, 60.0, ROBOTS, cut).rules.usage_of(url)


@given(robots_files, urls, st.integers(0, 30))
def test_limit_never_widens_a_robots_txt(body: bytes, url: str, limit: int) -> None:
    assert_narrower(lambda: usage_of(body, url), limit)


@given(robots_files, urls, st.data())
def test_cut_never_widens_a_robots_txt(body: bytes, url: str, data: st.DataObject) -> None:
    sign = body.find(b"Content-")
    if sign < 0:
        return
    end = data.draw(st.integers(sign + len(b"Content-Signal:"), len(body)))
    limited, whole = usage_of(body[:end], url, cut=True), usage_of(body, url)
    assert all(map(int.__le__, widths(limited), widths(whole)))


def test_default_behind_the_last_entry_that_is_read_is_not_lost() -> None:
    free = [{"location": f"/free/{n}/", "tdm-reservation": 0} for n in range(300)]
    body = json.dumps([*free, {"location": "/*", "tdm-reservation": 1}]).encode()
    file = UsageFile(TDMREP, *read_usage_file(body, TDMREP, HOST))
    (found,) = file.statements_about(f"{HOST}/book")
    assert found.says == {"train-ai": False, "ai-input": False}
    assert found.place == "entry 201 and further"
    assert "entry 201 and further were not read" in file.fault
    assert [one.says["train-ai"] for one in file.statements_about(f"{HOST}/free/7/")] == [True]


def test_use_that_no_line_mentions_stays_open_in_a_long_robots_txt() -> None:
    body = "User-agent: *\n" + "".join(f"Content-Usage: /{n} train-ai=n\n" for n in range(150))
    judged = judge(usage_of(body.encode(), f"{HOST}/book"))
    assert (judged["train-ai"].allowed, judged["search"].allowed) == (False, None)


def test_fifth_license_file_of_the_host_is_reserved() -> None:
    others = "".join(f"License: https://b.test/{n}.xml\n" for n in range(9))
    own = "".join(f"License: {HOST}/{n}.xml\n" for n in range(5))
    (found,) = usage_of((others + own).encode(), f"{HOST}/p")
    assert (found.place, set(found.says.values())) == ("line 14", {False})
    assert usage_of(others.encode(), f"{HOST}/p") == ()


def test_large_robots_txt_without_usage_says_nothing() -> None:
    assert usage_of(b"User-agent: *\n" + b"Disallow: /x\n" * 60_000, f"{HOST}/p") == ()


def test_each_use_that_a_page_disallows_stays_disallowed() -> None:
    source = statements.Source.HEADER
    many = [Statement(source, "x", "x", {"train-ai": False}) for _ in range(90)]
    found = limit_statements([*many, Statement(source, "x", "y", {"search": False})])
    assert len(found) == statements.MAX_STATEMENTS
    assert judge(found)["search"].allowed is False
