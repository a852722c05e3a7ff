"""`gossamer why`: what is read of a URL, and in which sentences that is explained."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from console.cli.why import sentences
from console.facts import UrlFacts, read_facts
from console.open_crawl import open_crawl
from gossamer.erasures import Erasures
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Erasure,
    OrderId,
    Outcome,
    SiteOverridden,
    Speed,
    SpeedSet,
)
from gossamer.events.gone import Gone
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import PARTITIONS
from gossamer.settings import Settings
from gossamer.web.robots import parse_robots
from gossamer.web.url import fingerprint, site_of
from services.archive.rows import CaptureRow
from services.dedup.rows import DocumentRow
from services.dedup.seen import SeenRow, hash_finder
from services.frontier.conditions import Condition
from services.frontier.queue import HostQueues
from services.frontier.rows import (
    HistoryRow,
    HostRow,
    Lease,
    Origin,
    PartitionTallyRow,
    QueuedUrl,
    RobotsRow,
    SiteRow,
    UrlRow,
    VerdictRow,
    partition_key,
)
from services.frontier.sites import MAX_REFUSED_ROWS
from standalone.folder import Folder, Opened

HOST = "http://a.example"
URL = f"{HOST}/page"
NOW = 2_000_000_000.0
DEFINED = CrawlDefined(at=1.0, scope='domain("a.example")', max_depth=3)


def why(**facts: object) -> str:
    return "\n".join(sentences(UrlFacts(url=URL, **facts), NOW))  # type: ignore[arg-type]


def visit(**fields: object) -> UrlRow:
    given = {"outcome": Outcome.PAGE, "status": 200, "at": NOW, "attempt": 1, **fields}
    return UrlRow(DEFAULT_CRAWL, host=HOST, url=URL, **given)  # type: ignore[arg-type]


def test_what_was_never_met_is_explained_by_the_scope_and_the_depth() -> None:
    folder = why(definition=DEFINED)
    assert folder.startswith("scope: inside, by domain") and "never met: no page" in folder
    assert "limit of 3" in folder
    assert "it is still on its way there" in why(definition=DEFINED, fleet=True)
    outside = why(definition=CrawlDefined(at=1.0, scope='domain("b.example")', max_depth=3))
    assert outside.startswith("scope: outside") and "never met" not in outside


@pytest.mark.parametrize("target", [URL, HOST, "a.example"])
def test_an_erased_url_is_said_to_be_erased(target: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.make()
    opened = Opened(folder)
    erasures, others = Erasures(opened.store, "frontier"), ("http://b.example/page", "b.example")
    for at, name in enumerate((target, *others)):
        erasures.add(Erasure(name, NOW + at, "ann@desk", 0, 7), {"urls": 1})
    opened.store.flush()
    with open_crawl(Settings(), tmp_path) as crawl:
        shown = [*sentences(read_facts(crawl, URL), NOW)]
    when = "2033-05-18 03:33:20 UTC"
    assert f"erased: {when}: all that was known of {target}, for ann@desk" in shown


def test_the_first_finder_is_named() -> None:
    assert why(via="seed", met=True) == "discovered: it is a seed"
    assert why(via=f"1.0.0@{HOST}/", met=True) == f"discovered: linked from {HOST}/ (visit 1.0.0)"


def test_a_visit_is_explained_with_its_meaning_and_what_was_before() -> None:
    before = HistoryRow(DEFAULT_CRAWL, url=URL, at=NOW - 86400, outcome="busy", status=429)
    shown = why(visit=visit(origin=Origin(2, hops=1)), history=(before,), met=True)
    assert "visited: 2033-05-18 03:33:20 UTC: page 200" in shown
    assert "meaning: The server sent a page" in shown
    assert "before: 2033-05-17 03:33:20 UTC: busy 429" in shown
    assert "depth: 2, after 1 redirect\n" in shown + "\n"


def test_a_refusal_is_no_visit() -> None:
    row = visit(outcome="refused", status=0, attempt=0, reason="deeper than 3 links")
    shown = why(visit=row, met=True)
    assert "refused: 2033-05-18 03:33:20 UTC: refused (deeper than 3 links)" in shown
    assert "visited" not in shown and "meaning" not in shown


def test_of_many_refusals_by_one_rule_those_without_a_row_are_explained() -> None:
    trapped = SiteRow(
        "a.example", refused={"trap_urls": MAX_REFUSED_ROWS + 1, "redirect": MAX_REFUSED_ROWS}
    )
    shown = why(site=trapped, via="seed", met=True)
    assert (
        f"\nrefused: by trap_urls, which refused {MAX_REFUSED_ROWS + 1} URLs of a.example" in shown
    )
    assert "has reached its maximum number of URLs" in shown and "redirect" not in shown
    assert "perhaps refused: by trap_urls" in why(site=trapped, definition=DEFINED, fleet=True)
    two = SiteRow("a.example", refused={"trap_urls": 5000, "robots_excluded": 7000})
    assert why(site=two, met=True).count("perhaps refused: by") == 2
    assert "refused" not in why(site=trapped, ahead=1, host=host(), met=True)
    assert "trap_urls" not in why(site=trapped, visit=visit(), met=True)


def test_a_document_that_is_gone_or_may_be_is_named() -> None:
    gone = DocumentRow(DEFAULT_CRAWL, URL, NOW, gone=Gone.MOVED, missed=1)
    shown = why(document=gone, met=True)
    assert shown.startswith(
        "gone from pages: 2033-05-18 03:33:20 UTC: The URL redirects permanently"
    )
    hidden = DocumentRow(DEFAULT_CRAWL, URL, NOW + 9, gone=Gone.NOINDEX, missed=2, missed_since=NOW)
    shown = why(document=hidden, met=True)
    assert shown.startswith("not in pages: The page asks not to be indexed.")
    shown = why(document=replace(hidden, published_at=1.0), met=True)
    assert shown.startswith("gone from pages: 2033-05-18 03:33:20 UTC: The page asks not to be")
    missed = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d", missed=1, missed_since=NOW)
    assert why(document=missed, met=True) == (
        "in pages, though not found at 1 visit since 2033-05-18 03:33:20 UTC"
    )
    assert why(document=DocumentRow(DEFAULT_CRAWL, URL, NOW, "d"), met=True) == ""


def test_where_a_document_went_is_said() -> None:
    row = VerdictRow(
        DEFAULT_CRAWL, HOST, URL, "redirect", NOW, redirects_to=f"{HOST}/new", reason="moved"
    )
    assert f"verdict: redirect to {HOST}/new; links released: 0 (moved)" in why(verdict=row)


def test_why_links_were_held_back_is_said() -> None:
    row = VerdictRow(
        DEFAULT_CRAWL,
        HOST,
        URL,
        "duplicate",
        NOW,
        duplicate_of=f"{HOST}/",
        reason="more than 10 in a row",
    )
    assert f"duplicate of {HOST}/; links released: 0 (more than 10 in a row)" in why(verdict=row)


def test_how_much_has_changed_is_said() -> None:
    changed = VerdictRow(DEFAULT_CRAWL, HOST, URL, "changed", NOW, change=0.0625)
    assert "verdict: changed (6 % of it changed); links" in why(verdict=changed)
    little = VerdictRow(DEFAULT_CRAWL, HOST, URL, "changed", NOW, change=0.001)
    assert "verdict: changed (1 % of it changed); links" in why(verdict=little)
    for change in (0.0, None):
        row = VerdictRow(DEFAULT_CRAWL, HOST, URL, "unchanged", NOW, change=change)
        assert "verdict: unchanged; links" in why(verdict=row)


def host(**fields: object) -> HostRow:
    return HostRow(site="a.example", host=HOST, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("ahead", "words"), [(0, "0 URLs"), (1, "1 URL "), (7, "7 URLs")])
def test_its_position_in_the_queue_is_named(ahead: int, words: str) -> None:
    delayed = host(condition=Condition.DELAYED, ready_at=NOW + 5, backoff_reason="it was slow")
    shown = why(host=delayed, ahead=ahead, met=True)
    assert f"queued: behind {words}" in shown
    assert "host: delayed\n" in shown
    assert "not visited now until 2033-05-18 03:33:25 UTC: it was slow (delay)" in shown
    ready = host(condition=Condition.READY)
    assert "not visited" not in why(host=ready, ahead=ahead, met=True, definition=DEFINED)


def test_what_a_fetcher_holds_is_under_way_and_what_stands_behind_it_is_queued() -> None:
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    assert why(host=out, ahead=1, met=True).startswith("under way: order 1.7 holds it, until 2033")
    assert why(host=out, ahead=2, met=True).startswith("queued: behind 2 URLs")


def test_a_ready_host_that_waits_for_its_neighbours_says_for_which() -> None:
    ready, out = host(condition=Condition.READY), ("https://a.example", "http://www.a.example")
    shown = why(host=ready, ahead=0, met=True, neighbours=out)
    assert "not visited now: https://a.example is being visited, the same server (name)" in shown
    assert "others are being visited: http://www.a.example, https://a.example (site)" in shown


def test_every_gate_that_is_closed_is_named() -> None:
    paused = replace(DEFINED, paused=True)
    off = SiteOverridden(at=NOW, site="a.example", off=True)
    stopped = SpeedSet(at=NOW, speeds=(Speed("", pages=0.0),))
    shown = why(
        host=host(condition=Condition.READY),
        ahead=0,
        met=True,
        definition=paused,
        override=off,
        speed=stopped,
    )
    assert "not visited now: the crawl is paused (crawl)" in shown
    assert "not visited now: the speed of the crawl allows no visit now (speed)" in shown
    assert "UTC: its site is off (overrides)" in shown


def test_everything_that_a_folder_knows_is_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.make()
    opened = Opened(folder)
    opened.log.append([encode(DEFINED)])
    rows = (
        visit(origin=Origin(via="seed")),
        HistoryRow(DEFAULT_CRAWL, url=URL, at=1.0, outcome="page"),
        VerdictRow(DEFAULT_CRAWL, host=HOST, url=URL, verdict="first", at=1.0, links=4),
        CaptureRow(DEFAULT_CRAWL, URL, 1.0, 200, "a.warc.gz", 5, 6, ""),
        RobotsRow(host=HOST, rules=parse_robots(b"", "gossamer", 1.0, 60.0).rules),
        SeenRow(
            DEFAULT_CRAWL,
            site_of(URL),
            bytes.fromhex(fingerprint(URL)),
            bytes.fromhex(hash_finder("seed")),
        ),
    )
    for row in rows:
        opened.store.table(type(row)).put(row)
    opened.store.flush()
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        facts = read_facts(crawl, URL)
        nothing = read_facts(crawl, f"{HOST}/other")
    assert facts.definition is not None and facts.definition.scope == DEFINED.scope
    assert (facts.visit, facts.history, facts.verdict, *facts.captures, facts.robots) == (
        *(rows[0], (rows[1],), rows[2], rows[3], rows[4]),
    )
    assert (facts.via, facts.met, facts.ahead) == ("seed", True, None)
    assert (nothing.visit, nothing.via, nothing.met) == (None, "", False)
    assert nothing.robots == rows[4]


def test_who_found_a_url_is_known_while_it_waits(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.make()
    opened = Opened(folder)
    queues = HostQueues(opened.store.table(QueuedUrl), DEFAULT_CRAWL)
    row = host(condition=Condition.READY)
    for number, url in enumerate((f"{HOST}/first", URL), 1):
        origin = Origin(via=f"1.0.0@{HOST}/{number}")
        row = queues.append(row, [QueuedUrl(DEFAULT_CRAWL, "", 0, url, number, origin)])
    opened.store.table(HostRow).put(row)
    out = {"https://a.example": "a.example", "http://b.example": "b.example"}
    partition = partition_key(partition_of("a.example", PARTITIONS), PARTITIONS)
    opened.store.table(PartitionTallyRow).put(PartitionTallyRow(partition, checked_out=out))
    opened.store.flush()
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        facts = read_facts(crawl, URL)
    assert (facts.via, facts.ahead, facts.met) == (f"1.0.0@{HOST}/2", 1, True)
    assert facts.neighbours == ("https://a.example",)
