"""Views: what they take from rows, and which rows programs see as they are stored."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_origin, get_type_hints

import msgspec
import pytest
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from gossamer.console.api.routes import ROUTES
from gossamer.events import NoticeRaised, Outcome
from gossamer.events.topics import SEEDS
from gossamer.inspection.answers.failures import read_failure_groups
from gossamer.inspection.answers.host_details import explain_host, read_queue, read_timeline
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.archive.page_texts import describe_version
from gossamer.inspection.archive.usage import read_usage
from gossamer.inspection.archive.versions import read_version
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl, open_crawl
from gossamer.inspection.crawls.dead_letters import read_letters
from gossamer.inspection.crawls.notices import read_notices
from gossamer.inspection.hosts.hosts import ALL_SITES, read_host, read_sites
from gossamer.inspection.progress.freshness import read_freshness
from gossamer.inspection.progress.report import read_report
from gossamer.inspection.progress.status import read_status
from gossamer.inspection.urls.urls import explain_url
from gossamer.inspection.urls.visits import Visit, read_history, read_last_outcome
from gossamer.log import Record
from gossamer.log.codec import dead_letter, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.sqlite import Database
from gossamer.store import ColumnGroup, Row
from tests.console.archived import DAY, PAGE, ROBOTS, Archived
from tests.frontier.simulation import START, Simulation, make_verdict
from tests.inspection.simulated import opened

PUBLIC_ROWS = {
    CaptureRow: "crawl url fetched_at status file offset length digest record_id body_url body_at "
    "record_type content_type size",
    Visit: "crawl url at outcome status reason size verdict digest duplicate_of redirects_to "
    "change capture finding",
    VerdictRow: "crawl host url verdict at digest duplicate_of redirects_to links reason change "
    "needs_rendering",
}
"""Row that a response of the API contains → its columns."""
URL = "http://a.example/1"


class Pair(NamedTuple):
    left: int
    right: int


class Stored(Struct):
    left: int
    name: str
    secret: str = "key"


class View(Struct):
    left: int
    name: str


def test_view_has_the_equally_named_fields_and_nothing_else() -> None:
    assert view_of(View, Stored(1, "b")) == View(1, "b")
    assert view_of(View, Pair(1, 2), name="a") == View(1, "a")
    assert view_of(View, Stored(1, "b"), Pair(2, 3), left=4) == View(4, "b")


@pytest.mark.parametrize(
    ("sources", "rest", "fault"),
    [
        ((Stored(1, "b"), Pair(1, 2)), {}, "View.left is a field of .'Stored', 'Pair'."),
        ((Pair(1, 2),), {}, "View.name is a field of .."),
        ((Stored(1, "b"),), {"right": 2}, "right"),
    ],
    ids=["ambiguous", "missing", "unknown"],
)
def test_name_without_one_source_is_refused(
    sources: tuple[object, ...], rest: dict[str, object], fault: str
) -> None:
    with pytest.raises(TypeError, match=fault):
        view_of(View, *sources, **rest)


def test_api_shows_these_rows_with_these_columns() -> None:
    """A column that is added to one of these rows is public: name it here, or make a view."""
    found = {kind for route in ROUTES for kind in _structs(route) if issubclass(kind, Row)}
    assert {row: " ".join(row.__struct_fields__) for row in found} == PUBLIC_ROWS
    groups = {kind for route in ROUTES for kind in _structs(route) if issubclass(kind, ColumnGroup)}
    assert not groups


def _structs(route: HTTPRouteHandler) -> set[type[Struct]]:
    """Return the structs in a response of *route*."""
    found = set[type[Struct]]()

    def visit(node: object) -> None:
        match node:
            case msgspec.inspect.StructType(cls=kind) if kind not in found:
                found.add(get_origin(kind) or kind)
                visit(node.fields)
            case msgspec.inspect.Type() | msgspec.inspect.Field():
                for name in node.__struct_fields__:
                    visit(getattr(node, name))
            case tuple():
                for one in node:
                    visit(one)

    visit(msgspec.inspect.type_info(get_type_hints(route.fn).get("return")))
    return found


READ: dict[str, Callable[[OpenCrawl, float], Any]] = {
    "status": lambda crawl, now: read_status(crawl).report(),
    "overview": lambda crawl, now: read_overview(crawl, now=now),
    "report": lambda crawl, now: read_report(crawl),
    "failures": lambda crawl, now: read_failure_groups(crawl)[0],
    "freshness": lambda crawl, now: read_freshness(crawl, now=now)[0],
    "host": lambda crawl, now: read_host(crawl, "http://a.example"),
    "host details": lambda crawl, now: explain_host(crawl, URL, now),
    "queue": lambda crawl, now: read_queue(crawl, URL).items[0],
    "timeline": lambda crawl, now: read_timeline(crawl, URL),
    "site": lambda crawl, now: read_sites(crawl, ALL_SITES)[0],
    "url": lambda crawl, now: explain_url(crawl, URL),
    "history": lambda crawl, now: next(read_history(crawl, URL)),
    "last outcome": lambda crawl, now: read_last_outcome(crawl, URL),
}
"""Name → how a view of a crawl is read at a time."""


def answer(url: str) -> Mapping[str, object]:
    """Return a page at once, or that the host is down."""
    return {"outcome": Outcome.HOST_DOWN} if "down" in url else {}


@pytest.fixture(scope="module")
def sim() -> Simulation:
    """Return a crawl with visited and queued URLs, and a host that is down."""
    sim = Simulation(answer)
    sim.give_verdict = make_verdict
    sim.admit(*(f"http://a.example/{number}" for number in range(30)), "http://down.example/")
    sim.run(until=START + 20.0)
    return sim


@pytest.mark.parametrize("name", READ)
def test_values_in_a_view_have_the_types_that_it_states(name: str, sim: Simulation) -> None:
    check_types(READ[name](opened(sim), sim.now))


def test_values_in_an_archived_view_have_the_types_that_it_states(tmp_path: Path) -> None:
    archived = Archived(tmp_path)
    archived.add(ROBOTS, 0, b"User-agent: *\nDisallow: /private\n")
    archived.add(PAGE, 1, b"<p>A page</p>", headers=(("Content-Type", "text/html"),))
    with open_crawl(None, archived.end()) as crawl:
        check_types(describe_version(crawl, read_version(crawl, PAGE)))
        [usage] = read_usage(crawl, PAGE, START + 2 * DAY)
        check_types(usage)
        visit = next(read_history(crawl, PAGE))
        check_types(visit)
        assert visit.capture and visit.capture.url == PAGE


def test_letters_and_notices_have_the_types_that_they_state() -> None:
    log = SqliteLog(Database(":memory:"))
    record = Record(SEEDS.name, 0, 1, "http://a.example/", b"garbage")
    notice = NoticeRaised(at=1.0, id="1", rule="test", number=1, text="Lost.", begun_at=1.0)
    log.append([encode(dead_letter(record, "dedup", "not a URL", 1.0)), encode(notice)])
    [letter] = read_letters(log).items
    [shown] = read_notices(log)
    check_types(letter)
    check_types(shown)


def check_types(view: Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(view), type=type(view)) == view
