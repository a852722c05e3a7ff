"""`gossamer why`: the facts about a URL, the answer, and the details."""

from math import inf
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.cli.why import brief_details, details
from gossamer.erasures import Erasures
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Erasure,
    OrderId,
    Outcome,
    SiteOverridden,
    Speed,
)
from gossamer.events.public import Gone
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import PARTITIONS
from gossamer.settings import Settings
from gossamer.speed import NO_LIMIT
from gossamer.web.robots import parse_robots
from gossamer.web.url import fingerprint, site_of
from inspection.basics.folder import Folder
from inspection.crawls.crawl import open_crawl
from inspection.urls.url_rows import UrlFacts, read_facts
from inspection.urls.urls import explain
from services.archive.rows import CaptureRow
from services.dedup.rows import DocumentRow
from services.dedup.seen import SeenRow, hash_finder
from services.frontier.partition.gates import CrawlInputs, GateInputs, HostInputs
from services.frontier.partition.politeness import Overrides
from services.frontier.partition.queue import FoundUrl, HostQueues
from services.frontier.partition.sites import MAX_REFUSED_ROWS
from services.frontier.tables.conditions import Condition
from services.frontier.tables.hosts import HostRow, Lease, Politeness, RobotsRow
from services.frontier.tables.ordering import request_number
from services.frontier.tables.partitions import partition_key
from services.frontier.tables.plans import PlanRow
from services.frontier.tables.sites import SiteCrawl, SiteRow
from services.frontier.tables.urls import HistoryRow, Origin, QueuedUrl, UrlRow, VerdictRow
from services.frontier.totals.tally import PartitionTallyRow
from tests.support.rows import put_rows

HOST = "http://a.example"
URL = f"{HOST}/page"
NOW = 2_000_000_000.0
DEFINED = CrawlDefined(at=1.0, scope='domain("a.example")', max_depth=3)


def behind(ahead: int) -> FoundUrl:
    """Return URL as found behind *ahead* others in the queue of its host."""
    queued = QueuedUrl(DEFAULT_CRAWL, "", 0, URL, request_number(0, 1))
    return FoundUrl(queued, ahead, None, ahead)


def why(**facts: object) -> str:
    return "\n".join(details(explain(UrlFacts(url=URL, **facts), NOW)))  # type: ignore[arg-type]


def answer(**facts: object) -> str:
    return explain(UrlFacts(url=URL, **facts), NOW).answer  # type: ignore[arg-type]


def brief(**facts: object) -> list[str]:
    return [*brief_details(explain(UrlFacts(url=URL, **facts), NOW))]  # type: ignore[arg-type]


def gates(
    host: HostRow,
    crawl: CrawlDefined = DEFINED,
    speed: Speed = NO_LIMIT,
    overrides: Overrides | None = None,
    neighbours: tuple[str, ...] = (),
) -> GateInputs:
    """Return inputs that open all gates, except for the given ones."""
    of_crawl = CrawlInputs(crawl, pages_left=None, speed=speed, speed_until=inf)
    of_host = HostInputs(
        NOW, host, overrides or Overrides(), neighbours, 1, None, 0, None, taken_over_until=None
    )
    return GateInputs(of_crawl, of_host)


def visit(**fields: object) -> UrlRow:
    given = {"outcome": Outcome.PAGE, "status": 200, "at": NOW, "attempt": 1, **fields}
    return UrlRow(DEFAULT_CRAWL, host=HOST, url=URL, **given)  # type: ignore[arg-type]


def test_unseen_url_is_explained_by_scope_and_depth() -> None:
    folder = why(definition=DEFINED)
    assert folder.startswith("scope: inside, by domain") and "not seen: no page" in folder
    assert "within 3 links of a seed" in folder
    assert "not known to the frontier: no page" in why(definition=DEFINED, fleet=True)
    outside = why(definition=CrawlDefined(at=1.0, scope='domain("b.example")', max_depth=3))
    assert outside.startswith("scope: outside") and "not seen" not in outside


@pytest.mark.parametrize("target", [URL, HOST, "a.example"])
def test_erased_url_is_shown_with_its_erasure(target: str, tmp_path: Path) -> None:
    opened = Folder(tmp_path).create()
    erasures, others = Erasures(opened.store, "frontier"), ("http://b.example/page", "b.example")
    for at, name in enumerate((target, *others)):
        erasures.add(Erasure(name, NOW + at, "ann@desk", 0, 7), {"urls": 1})
    opened.store.flush()
    with open_crawl(Settings(), tmp_path) as crawl:
        found = explain(read_facts(crawl, URL, NOW), NOW)
    shown, text = [*details(found)], found.answer
    when = "2033-05-18 03:33:20 UTC"
    assert f"erased: {when}, everything about {target}, for ann@desk" in shown
    assert text == f"Erased 03:33:20 UTC with {target}, requested by ann@desk."


def test_discovery_names_the_first_finder() -> None:
    assert why(via="seed", is_seen=True) == "discovered: as a seed"
    assert (
        why(via=f"1.0.0@{HOST}/", is_seen=True) == f"discovered: by a link on {HOST}/ (visit 1.0.0)"
    )


def test_details_of_a_visit_have_its_meaning_and_earlier_visits() -> None:
    before = HistoryRow(DEFAULT_CRAWL, url=URL, at=NOW - 86400, outcome="busy", status=429)
    shown = why(visit=visit(origin=Origin(2, hops=1)), history=(before,), is_seen=True)
    assert "visited: 2033-05-18 03:33:20 UTC: page (200)" in shown
    assert "meaning of page: The server sent a page" in shown
    assert "before: 2033-05-17 03:33:20 UTC: 429 Too Many Requests" in shown
    assert "depth: 2, after 1 redirect\n" in shown + "\n"


def test_refusal_is_not_shown_as_a_visit() -> None:
    row = visit(outcome="refused", status=0, attempt=0, reason="deeper than 3 links")
    shown = why(visit=row, is_seen=True)
    assert "refused: 2033-05-18 03:33:20 UTC: refused (deeper than 3 links)" in shown
    assert "visited" not in shown and "meaning" not in shown


def test_refusals_without_a_row_are_explained_by_their_rule() -> None:
    refused = {"robots_excluded": MAX_REFUSED_ROWS + 1, "redirect": MAX_REFUSED_ROWS}
    trapped = SiteRow("a.example", crawls={DEFAULT_CRAWL: SiteCrawl(refused=refused)})
    shown = why(site=trapped, via="seed", is_seen=True)
    assert (
        f"\nrefused: by robots_excluded, which refused {MAX_REFUSED_ROWS + 1} URLs of a.example"
        in shown
    )
    assert "robots.txt forbids a URL" in shown and "redirect" not in shown
    assert "perhaps refused: by robots_excluded" in why(
        site=trapped, definition=DEFINED, fleet=True
    )
    refused = {"redirect": 5000, "robots_excluded": 7000}
    two = SiteRow("a.example", crawls={DEFAULT_CRAWL: SiteCrawl(refused=refused)})
    assert why(site=two, is_seen=True).count("perhaps refused: by") == 2
    assert "refused" not in why(site=trapped, queued=behind(1), host=host(), is_seen=True)
    assert "robots_excluded" not in why(site=trapped, visit=visit(), is_seen=True)


def test_documents_that_are_gone_or_missed_are_shown() -> None:
    gone = DocumentRow(DEFAULT_CRAWL, URL, NOW, gone=Gone.MOVED, missed=1)
    shown = why(document=gone, is_seen=True)
    assert shown.startswith(
        "gone from pages: 2033-05-18 03:33:20 UTC: The URL redirects permanently"
    )
    hidden = DocumentRow(DEFAULT_CRAWL, URL, NOW + 9, gone=Gone.NOINDEX, missed=2, missed_since=NOW)
    shown = why(document=hidden, is_seen=True)
    assert shown.startswith("not in pages: The page asks not to be indexed.")
    shown = why(document=replace(hidden, published_at=1.0), is_seen=True)
    assert shown.startswith("gone from pages: 2033-05-18 03:33:20 UTC: The page asks not to be")
    missed = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d", missed=1, missed_since=NOW)
    assert why(document=missed, is_seen=True) == (
        "in pages, although 1 visit since 2033-05-18 03:33:20 UTC did not find it"
    )
    assert why(document=DocumentRow(DEFAULT_CRAWL, URL, NOW, "d"), is_seen=True) == ""


def test_verdict_of_a_moved_document_has_its_target() -> None:
    row = VerdictRow(
        DEFAULT_CRAWL, HOST, URL, "redirect", NOW, redirects_to=f"{HOST}/new", reason="moved"
    )
    assert f"verdict: redirect to {HOST}/new; links released: 0 (moved)" in why(verdict=row)


def test_verdict_has_the_reason_for_unreleased_links() -> None:
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


def test_verdict_on_a_soft_404_is_gone_whenever_it_was_found() -> None:
    soft = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d", gone=Gone.SOFT_404)
    for row in (
        VerdictRow(DEFAULT_CRAWL, HOST, URL, "first", NOW, links=4),
        VerdictRow(DEFAULT_CRAWL, HOST, URL, "near_duplicate", NOW, duplicate_of=f"{HOST}/"),
    ):
        shown = why(verdict=row, document=soft)
        assert (
            "verdict: gone; " in shown and "(the page is a soft 404: it is not published)" in shown
        )
        assert "first" not in shown and "duplicate" not in shown


def test_verdict_has_the_share_of_changed_text() -> None:
    changed = VerdictRow(DEFAULT_CRAWL, HOST, URL, "changed", NOW, change=0.0625)
    assert "verdict: changed (6 % of the text changed); links" in why(verdict=changed)
    little = VerdictRow(DEFAULT_CRAWL, HOST, URL, "changed", NOW, change=0.001)
    assert "verdict: changed (1 % of the text changed); links" in why(verdict=little)
    for change in (0.0, None):
        row = VerdictRow(DEFAULT_CRAWL, HOST, URL, "unchanged", NOW, change=change)
        assert "verdict: unchanged; links" in why(verdict=row)


def test_answer_for_a_fetched_page_has_publication_archive_and_next_visit() -> None:
    document = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d")
    capture = CaptureRow(DEFAULT_CRAWL, URL, NOW, 200, "a.warc.gz", 5, 6, "")
    never = PlanRow(DEFAULT_CRAWL, HOST, URL, policy="none", reason="each page is visited once")
    facts = {"visit": visit(), "document": document, "captures": (capture,), "plan": never}
    assert answer(**facts) == (
        "Fetched 03:33:20 UTC (200), published, archived. "
        "Will not be fetched again: --revisit none."
    )
    later = replace(never, at=NOW + 60, policy="fixed:1d", reason="every day")
    assert answer(**{**facts, "plan": later}).endswith("Next visit 03:34:20 UTC: every day.")
    duplicate = VerdictRow(DEFAULT_CRAWL, HOST, URL, "near_duplicate", NOW, duplicate_of=f"{HOST}/")
    shown = answer(**{**facts, "verdict": duplicate})
    assert f"published as a near-duplicate of {HOST}/, archived" in shown


def test_answer_for_a_failure_has_the_status_code_and_the_command_to_retry() -> None:
    missing = visit(outcome=Outcome.GONE, status=404)
    assert answer(visit=missing) == (
        "Failed 03:33:20 UTC: 404 Not Found. "
        "Not tried again by itself: gossamer retry URL tries it."
    )
    down = visit(
        outcome=Outcome.HOST_DOWN,
        status=0,
        reason="[Errno 111] Connect call failed ('127.0.0.99', 80)",
    )
    assert "no connection (connection refused by 127.0.0.99:80)" in answer(visit=down)


def test_answer_for_a_walled_url_names_the_wall_and_the_retry() -> None:
    reason = "challenged by Anubis: its cookie"
    walled = visit(outcome=Outcome.CHALLENGED, status=202, reason=reason, attempt=1)
    retry = PlanRow(
        DEFAULT_CRAWL, HOST, URL, NOW + 60, reason="attempt 2 after challenged", attempt=1
    )
    assert answer(visit=walled, plan=retry) == (
        "Refused 03:33:20 UTC (202): challenged by Anubis: its cookie. "
        "Next visit 03:34:20 UTC: attempt 2 after challenged."
    )
    price = "payment required: USD 0.01 (pay per crawl)"
    paid = visit(outcome=Outcome.PAYMENT_REQUIRED, status=402, reason=price)
    assert answer(visit=paid).startswith(f"Refused 03:33:20 UTC (402): {price}. Not tried again")


def test_answer_for_a_url_that_was_not_fetched_has_the_rule() -> None:
    deep = visit(outcome="trap_depth", status=0, attempt=0, reason="deeper than 3 links")
    assert answer(visit=deep) == "Not fetched: deeper than --depth (deeper than 3 links)."
    assert answer() == "No crawl is defined: gossamer seed URL --scope SCOPE defines one."
    outside = answer(definition=CrawlDefined(at=1.0, scope='domain("b.example")', max_depth=3))
    assert outside.startswith("Not fetched: out of scope, by ")
    assert answer(definition=DEFINED).startswith("Not seen: no page read so far links to it")


def test_answer_for_a_queued_url_has_its_position_and_the_closed_gate() -> None:
    delayed = host(condition=Condition.DELAYED, ready_at=NOW + 5, politeness=Politeness(delay=5.0))
    facts = {"host": delayed, "queued": behind(12), "definition": DEFINED, "gates": gates(delayed)}
    assert answer(**facts) == (
        "Queued, not fetched yet: behind 12 URLs of its host, about 60 s. Its host is not visited "
        "before 03:33:25 UTC: the courtesy delay is 5 s."
    )
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1, crawl=DEFAULT_CRAWL)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    assert answer(host=out, queued=behind(1)) == "Being fetched now."
    # The order ends long before its lease.
    facts |= {"host": host(), "gates": gates(out)}
    assert answer(**facts).endswith("of its host. A fetcher is visiting its host.")


def test_pace_of_a_host_names_the_crawl_delay() -> None:
    rules = parse_robots(b"User-agent: *\nCrawl-delay: 5\n", "gossamer", 1.0, 60.0).rules
    robots, pace = RobotsRow(host=HOST, rules=rules), f"pace of {HOST}: one request each 5 s"
    visited = host(politeness=Politeness(delay=5.0))
    assert brief(host=visited, robots=robots) == [f"{pace} (Crawl-delay in robots.txt)"]
    slow = host(politeness=Politeness(delay=20.0, strain=2))
    assert "each 20 s (doubled twice: the server seems overloaded)" in brief(host=slow)[0]
    override = SiteOverridden(at=NOW, site="a.example", delay=5.0)
    shown = why(host=visited, site_override=override)
    assert f"{pace} (set with gossamer site)" in shown
    assert brief(host=host(politeness=Politeness(delay=1.0))) == []


def test_new_setting_is_the_pace_before_the_next_visit() -> None:
    quick = host(politeness=Politeness(delay=0.3))
    slower = SiteOverridden(at=NOW, site="a.example", delay=5.0)
    assert f"pace of {HOST}: one request each 5 s (set with" in why(
        host=quick, site_override=slower
    )
    faster = replace(slower, delay=0.1)
    assert "one request each 0.3 s" in why(host=quick, site_override=faster)
    assert "one request each 0.1 s" in why(host=quick, site_override=replace(faster, ours=True))
    assert "behind 12 URLs of its host, about 60 s" in answer(
        host=quick, queued=behind(12), site_override=slower
    )


def test_gates_that_are_closed_for_one_reason_are_shown_once() -> None:
    quiet, end = Overrides(), NOW - NOW % 86400 + 86399.0
    quiet.change(SiteOverridden(at=NOW, site="a.example", quiet_from=0.0, quiet_until=86399.0))
    backing_off = host(
        condition=Condition.BACKING_OFF, ready_at=end, backoff_reason="quiet hours of the site"
    )
    closed = gates(backing_off, overrides=quiet)
    found = explain(UrlFacts(url=URL, host=backing_off, queued=behind(0), gates=closed), NOW)
    assert found.queued and len(found.queued.closed_gates) == 2
    assert [*brief_details(found)] == []


def host(**fields: object) -> HostRow:
    return HostRow(site="a.example", host=HOST, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("ahead", "words"), [(0, "0 URLs"), (1, "1 URL "), (7, "7 URLs")])
def test_details_of_a_queued_url_have_its_position(ahead: int, words: str) -> None:
    delayed = host(condition=Condition.DELAYED, ready_at=NOW + 5, backoff_reason="it was slow")
    shown = why(host=delayed, queued=behind(ahead), is_seen=True, gates=gates(delayed))
    assert f"queued: behind {words}" in shown
    assert "host: delayed\n" in shown
    assert "not visited now until 2033-05-18 03:33:25 UTC: it was slow (delay)" in shown
    ready = host(condition=Condition.READY)
    shown = why(
        host=ready,
        queued=behind(ahead),
        is_seen=True,
        definition=DEFINED,
        gates=gates(ready),
    )
    assert "not visited" not in shown


def test_urls_of_an_order_are_in_flight_and_later_ones_queued() -> None:
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1, crawl=DEFAULT_CRAWL)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    assert why(host=out, queued=behind(1), is_seen=True).startswith(
        "in flight: order 1.7, lease until 2033"
    )
    assert why(host=out, queued=behind(2), is_seen=True).startswith("queued: behind 2 URLs")


def test_ready_host_names_the_neighbours_it_waits_for() -> None:
    ready, out = host(condition=Condition.READY), ("https://a.example", "http://www.a.example")
    shown = why(host=ready, queued=behind(0), is_seen=True, gates=gates(ready, neighbours=out))
    assert (
        "not visited now: https://a.example, on the same server, is being visited (name)" in shown
    )
    assert (
        "other hosts of the site are being visited: http://www.a.example, https://a.example (site)"
        in shown
    )


def test_all_closed_gates_are_shown() -> None:
    ready, paused, off = host(condition=Condition.READY), replace(DEFINED, paused=True), Overrides()
    off.change(SiteOverridden(at=NOW, site="a.example", off=True))
    closed = gates(ready, paused, Speed("", pages=0.0), off)
    shown = why(host=ready, queued=behind(0), is_seen=True, definition=paused, gates=closed)
    assert "not visited now: the crawl is paused (crawl)" in shown
    assert "not visited now: the crawl's speed is 0 (speed)" in shown
    assert "UTC: the site is off (overrides)" in shown


def test_facts_are_read_from_all_tables_of_a_folder(tmp_path: Path) -> None:
    opened = Folder(tmp_path).create()
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
    put_rows(opened.store, *rows)
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        facts = read_facts(crawl, URL, NOW)
        nothing = read_facts(crawl, f"{HOST}/other", NOW)
    assert facts.definition is not None and facts.definition.scope == DEFINED.scope
    assert (facts.visit, facts.history, facts.verdict, *facts.captures, facts.robots) == (
        *(rows[0], (rows[1],), rows[2], rows[3], rows[4]),
    )
    assert (facts.via, facts.is_seen, facts.ahead) == ("seed", True, None)
    assert (nothing.visit, nothing.via, nothing.is_seen) == (None, "", False)
    assert nothing.robots == rows[4]


def test_finder_of_a_queued_url_is_read_from_the_queue(tmp_path: Path) -> None:
    opened = Folder(tmp_path).create()
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
        facts = read_facts(crawl, URL, NOW)
    assert (facts.via, facts.ahead, facts.is_seen) == (f"1.0.0@{HOST}/2", 1, True)
    assert facts.gates and facts.gates.host.neighbours == ["https://a.example"]
    with open_crawl(None, tmp_path) as crawl:
        facts = read_facts(crawl, URL, NOW)
    shown = "\n".join(details(explain(facts, NOW)))
    assert "is being visited (name)" in shown
    assert "other hosts of the site" not in shown, "four hosts of a site may be visited at once"
