"""`gossamer why`: the facts about a URL, the answer, and the details."""

from math import inf
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.bounds import Exclusion
from gossamer.console.cli.why import brief_details, details
from gossamer.erasures import Erasures
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Erasure,
    OrderId,
    Outcome,
    Purpose,
    SiteOverridden,
    Speed,
)
from gossamer.events.hazards import Hazard
from gossamer.events.public import Gone
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.urls.url_rows import UrlFacts, read_facts
from gossamer.inspection.urls.urls import UrlExplanation, explain
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import PARTITIONS
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import SeenRow, hash_finder
from gossamer.services.frontier.partition.gates import CrawlInputs, GateInputs, HostInputs
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.partition.queue import FoundUrl, HostQueues
from gossamer.services.frontier.partition.sites import MAX_REFUSED_ROWS
from gossamer.services.frontier.steps.queue_fates import QUEUE_FATES, Fate, QueueHead
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, Lease, Politeness, RobotsRow
from gossamer.services.frontier.tables.ordering import request_number
from gossamer.services.frontier.tables.partitions import partition_key
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.sites import SiteCrawl, SiteRow
from gossamer.services.frontier.tables.urls import HistoryRow, Origin, QueuedUrl, UrlRow, VerdictRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow
from gossamer.settings import Settings
from gossamer.speed import NO_LIMIT
from gossamer.web.robots import parse_robots
from gossamer.web.url import HostKey, Site, fingerprint, site_of
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

HOST = HostKey("http://a.example")
URL = f"{HOST}/page"
NOW = 2_000_000_000.0
DEFINED = CrawlDefined(at=1.0, scope='domain("a.example")', max_depth=3)


def behind(ahead: int) -> FoundUrl:
    """Return URL as found behind *ahead* others in the queue of its host."""
    queued = QueuedUrl(DEFAULT_CRAWL, "", 0, URL, request_number(0, 1))
    return FoundUrl(queued, ahead, None, ahead)


class Why:
    """`gossamer why` of facts about URL, in the test's transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def __call__(self, situation: str, /, verbose: bool = True, **facts: object) -> None:
        found = explain(UrlFacts(url=URL, **facts), NOW)  # type: ignore[arg-type]
        self.add(situation, found, verbose)

    def add(self, situation: str, found: UrlExplanation, verbose: bool = True) -> None:
        command = f"gossamer why{' --verbose' if verbose else ''} {URL}  # {situation}"
        lines = details(found) if verbose else brief_details(found)
        self._transcript.add(command, [found.answer, *(f"  {line}" for line in lines)])


@pytest.fixture
def why(transcript: Transcript) -> Why:
    return Why(transcript)


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


def test_unseen_url_is_explained_by_scope_and_depth(why: Why) -> None:
    why("no crawl is defined")
    why("not seen in a folder", definition=DEFINED)
    why("not seen in a fleet", definition=DEFINED, is_fleet=True)
    why("out of scope", definition=replace(DEFINED, scope='domain("b.example")'))


@pytest.mark.parametrize("target", [URL, HOST, "a.example"])
def test_erasure_of_a_url_is_that_of_the_url_its_host_or_site(target: str, tmp_path: Path) -> None:
    with open_crawl(Settings(), erased(tmp_path, target)) as crawl:
        found = explain(read_facts(crawl, URL, NOW), NOW)
    assert found.erased and found.erased.target == target


def erased(folder: Path, *targets: str) -> Path:
    """Return *folder* with a crawl in which *targets* and another site were erased."""
    opened = Folder(folder).create()
    erasures, others = Erasures(opened.store, "frontier"), ("http://b.example/page", "b.example")
    for at, name in enumerate((*targets, *others)):
        erasures.add(Erasure(name, NOW + at, "ann@desk", 0, 7), {"urls": 1})
    opened.store.flush()
    return folder


def test_erased_url_is_shown_with_its_erasure(why: Why, tmp_path: Path) -> None:
    with open_crawl(Settings(), erased(tmp_path, HOST)) as crawl:
        why.add("its host was erased", explain(read_facts(crawl, URL, NOW), NOW))


def test_discovery_names_the_first_finder(why: Why) -> None:
    why("a seed", discovered_by="seed", is_seen=True)
    why("found by a link", discovered_by=f"1.0.0@{HOST}/", is_seen=True)


def test_visit_is_shown_with_its_meaning_and_earlier_visits(why: Why) -> None:
    before = HistoryRow(DEFAULT_CRAWL, url=URL, at=NOW - 86400, outcome="busy", status=429)
    row = visit(origin=Origin(2, hops=1))
    why("visited twice", visit=row, history=(before,), is_seen=True)


def test_refusal_is_not_shown_as_a_visit(why: Why) -> None:
    row = visit(outcome="refused", status=0, attempt=0, reason="deeper than 3 links")
    why("refused", visit=row, is_seen=True)


def test_refusals_without_a_row_are_explained_by_their_rule(why: Why) -> None:
    refused = {"robots_excluded": MAX_REFUSED_ROWS + 1, "redirect": MAX_REFUSED_ROWS}
    trapped = SiteRow(Site("a.example"), crawls={DEFAULT_CRAWL: SiteCrawl(refused=refused)})
    why("one rule has refused too many for rows", site=trapped, discovered_by="seed", is_seen=True)
    why("the same in a fleet", site=trapped, definition=DEFINED, is_fleet=True)
    refused = {"redirect": 5000, "robots_excluded": 7000}
    two = SiteRow(Site("a.example"), crawls={DEFAULT_CRAWL: SiteCrawl(refused=refused)})
    why("two rules have", site=two, is_seen=True)
    why("but the URL is queued", site=trapped, queued=behind(1), host=host(), is_seen=True)
    why("but the URL was visited", site=trapped, visit=visit(), is_seen=True)


def test_documents_that_are_gone_or_missed_are_shown(why: Why) -> None:
    gone = DocumentRow(DEFAULT_CRAWL, URL, NOW, gone=Gone.MOVED, missed=1)
    hidden = DocumentRow(DEFAULT_CRAWL, URL, NOW + 9, gone=Gone.NOINDEX, missed=2, missed_since=NOW)
    missed = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d", missed=1, missed_since=NOW)
    for situation, document in {
        "moved": gone,
        "never published": hidden,
        "no longer published": replace(hidden, published_at=1.0),
        "missed once": missed,
        "published": DocumentRow(DEFAULT_CRAWL, URL, NOW, "d"),
    }.items():
        why(situation, document=document, is_seen=True)


def test_verdicts_are_shown_with_targets_reasons_and_changes(why: Why) -> None:
    row = VerdictRow(DEFAULT_CRAWL, HOST, URL, "redirect", NOW)
    streak = "more than 10 in a row"
    for situation, verdict in {
        "moved": replace(row, redirects_to=f"{HOST}/new", reason="moved"),
        "a duplicate": replace(row, verdict="duplicate", duplicate_of=f"{HOST}/", reason=streak),
        "changed": replace(row, verdict="changed", change=0.0625),
        "little changed": replace(row, verdict="changed", change=0.001),
        "unchanged": replace(row, verdict="unchanged", change=0.0),
        "unchanged, without a measured change": replace(row, verdict="unchanged"),
    }.items():
        why(situation, verdict=verdict)


def test_verdict_on_a_soft_404_is_gone_whenever_it_was_found(why: Why) -> None:
    soft = DocumentRow(DEFAULT_CRAWL, URL, NOW, "d", gone=Gone.SOFT_404)
    first = VerdictRow(DEFAULT_CRAWL, HOST, URL, "first", NOW, links=4)
    near = VerdictRow(DEFAULT_CRAWL, HOST, URL, "near_duplicate", NOW, duplicate_of=f"{HOST}/")
    why("before its verdict", verdict=first, document=soft)
    why("after it was a near-duplicate", verdict=near, document=soft)


def test_answer_for_a_fetched_page_has_publication_archive_and_next_visit(why: Why) -> None:
    never = PlanRow(DEFAULT_CRAWL, HOST, URL, policy="none", reason="each page is visited once")
    facts = {
        "visit": visit(),
        "document": DocumentRow(DEFAULT_CRAWL, URL, NOW, "d"),
        "captures": (CaptureRow(DEFAULT_CRAWL, URL, NOW, 200, "a.warc.gz", 5, 6, ""),),
        "plan": never,
    }
    why("visited once", False, **facts)
    later = replace(never, at=NOW + 60, policy="fixed:1d", reason="every day")
    why("visited every day", False, **{**facts, "plan": later})
    duplicate = VerdictRow(DEFAULT_CRAWL, HOST, URL, "near_duplicate", NOW, duplicate_of=f"{HOST}/")
    why("a near-duplicate", False, **{**facts, "verdict": duplicate})
    shell = replace(duplicate, verdict="first", duplicate_of="", needs_rendering=True)
    why("made by scripts", False, **{**facts, "verdict": shell})


def test_answer_for_a_failure_has_the_status_code_and_the_command_to_retry(why: Why) -> None:
    why("missing", False, visit=visit(outcome=Outcome.GONE, status=404))
    refused = "[Errno 111] Connect call failed ('127.0.0.99', 80)"
    why("down", False, visit=visit(outcome=Outcome.HOST_DOWN, status=0, reason=refused))


def test_answer_for_a_walled_url_names_the_wall_and_the_retry(why: Why) -> None:
    reason = "challenged by Anubis: its cookie"
    walled = visit(outcome=Outcome.CHALLENGED, status=202, reason=reason, attempt=1)
    retry = PlanRow(
        DEFAULT_CRAWL, HOST, URL, NOW + 60, reason="attempt 2 after challenged", attempt=1
    )
    why("challenged", False, visit=walled, plan=retry)
    price = "payment required: USD 0.01 (pay per crawl)"
    paid = visit(outcome=Outcome.PAYMENT_REQUIRED, status=402, reason=price)
    why("for sale", False, visit=paid)


def test_answer_for_a_usual_sitemap_says_why_it_was_tried(why: Why) -> None:
    """Report browsertrix-crawler #933: a missing file is expected."""
    origin = Origin(purpose=Purpose.USUAL_SITEMAP)
    missing = visit(outcome=Outcome.GONE, status=404, reason="", attempt=0, origin=origin)
    why("there is no usual sitemap", False, visit=replace(missing, earlier=1))
    why("a page is in its place", False, visit=visit(origin=origin, attempt=0, earlier=1))


def test_sitemap_is_not_called_missing_in_the_archive(why: Why) -> None:
    read = VerdictRow(DEFAULT_CRAWL, HOST, URL, "first", NOW)
    visited = HistoryRow(DEFAULT_CRAWL, URL, NOW, Outcome.PAGE, 200, verdict="first")
    sitemap = visit(origin=Origin(purpose=Purpose.SITEMAP), attempt=0, earlier=1)
    why("sitemap", visit=sitemap, verdict=read, history=(visited,))


def test_answer_for_a_url_that_was_not_fetched_has_the_rule(why: Why) -> None:
    deep = visit(outcome="trap_depth", status=0, attempt=0, reason="deeper than 3 links")
    why("too deep", False, visit=deep)


def test_answer_for_a_queued_url_has_its_position_and_the_closed_gate(why: Why) -> None:
    delayed = host(
        condition=Condition.DELAYED,
        ready_at=NOW + 5,
        politeness=Politeness(delay=5.0, last_took=0.0),
    )
    facts: dict[str, Any] = {
        "host": delayed,
        "queued": behind(12),
        "definition": DEFINED,
        "gates": gates(delayed),
    }
    why("its host is delayed", False, **facts)
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1, crawl=DEFAULT_CRAWL)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    why("in an order", False, host=out, queued=behind(1))
    # The order ends long before its lease.
    facts |= {"host": host(), "gates": gates(out)}
    why("its host is visited for other URLs", False, **facts)


def test_pace_of_a_host_names_the_crawl_delay(why: Why) -> None:
    rules = parse_robots(b"User-agent: *\nCrawl-delay: 5\n", "gossamer", 1.0, 60.0).rules
    robots = RobotsRow(host=HOST, rules=rules)
    visited = host(politeness=Politeness(delay=5.0, last_took=0.0))
    slow = host(politeness=Politeness(delay=20.0, last_took=0.0, strain=2))
    why("with a Crawl-delay", False, host=visited, robots=robots)
    why("with an overloaded server", False, host=slow, robots=robots)
    # Report Meziantou #2620: numbers that people can read.
    absurd = RobotsRow(host=HOST, rules=replace(rules, crawl_delay=1e300))
    limited = host(
        condition=Condition.DELAYED,
        ready_at=NOW + 5,
        politeness=Politeness(delay=86400.0, last_took=0.0),
    )
    why("with a limited Crawl-delay", False, host=limited, robots=absurd)
    queued = {"queued": behind(1), "definition": DEFINED, "gates": gates(limited)}
    why("queued with a limited Crawl-delay", False, host=limited, robots=absurd, **queued)
    typo = RobotsRow(host=HOST, rules=replace(rules, crawl_delay=86_400_000.0))
    why("with a Crawl-delay in milliseconds", False, host=limited, robots=typo)
    override = SiteOverridden(at=NOW, site=Site("a.example"), delay=5.0)
    why("with a delay of the operator", host=visited, site_override=override)
    why("with the usual delay", False, host=host(politeness=Politeness(delay=1.0, last_took=0.0)))


def test_new_setting_is_the_pace_before_the_next_visit(why: Why) -> None:
    quick = host(politeness=Politeness(delay=0.3, last_took=0.0))
    slower = SiteOverridden(at=NOW, site=Site("a.example"), delay=5.0)
    why("a longer delay", host=quick, queued=behind(12), site_override=slower)
    faster = replace(slower, delay=0.1)
    why("a shorter delay", host=quick, site_override=faster)
    why("a shorter delay for a site of ours", host=quick, site_override=replace(faster, ours=True))


def test_gates_that_are_closed_for_one_reason_are_shown_once(why: Why) -> None:
    quiet, end = Overrides(), NOW - NOW % 86400 + 86399.0
    quiet.change(
        SiteOverridden(at=NOW, site=Site("a.example"), quiet_from=0.0, quiet_until=86399.0)
    )
    backing_off = host(
        condition=Condition.BACKING_OFF, ready_at=end, backoff_reason="quiet hours of the site"
    )
    closed = gates(backing_off, overrides=quiet)
    found = explain(UrlFacts(url=URL, host=backing_off, queued=behind(0), gates=closed), NOW)
    assert found.queued and len(found.queued.closed_gates) == 2
    why.add("backing off for quiet hours", found, verbose=False)


def host(**fields: object) -> HostRow:
    return HostRow(site="a.example", host=HOST, **fields)  # type: ignore[arg-type]


def test_details_of_a_queued_url_have_its_position_and_its_host(why: Why) -> None:
    delayed = host(condition=Condition.DELAYED, ready_at=NOW + 5, backoff_reason="it was slow")
    for ahead in (0, 1, 7):
        facts: dict[str, Any] = {"queued": behind(ahead), "is_seen": True}
        why(f"{ahead} ahead, delayed", host=delayed, gates=gates(delayed), **facts)
    ready = host(condition=Condition.READY)
    why("7 ahead, ready", host=ready, gates=gates(ready), definition=DEFINED, **facts)


def test_urls_of_an_order_are_in_flight_and_later_ones_queued(why: Why) -> None:
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1, crawl=DEFAULT_CRAWL)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    why("the last of the order", host=out, queued=behind(1), is_seen=True)
    why("the first after the order", host=out, queued=behind(2), is_seen=True)


def test_ready_host_names_the_neighbours_it_waits_for(why: Why) -> None:
    ready, out = host(condition=Condition.READY), ("https://a.example", "http://www.a.example")
    closed = gates(ready, neighbours=out)
    why("neighbours are visited", host=ready, queued=behind(0), is_seen=True, gates=closed)


def test_all_closed_gates_are_shown(why: Why) -> None:
    ready, paused, off = host(condition=Condition.READY), replace(DEFINED, paused=True), Overrides()
    off.change(SiteOverridden(at=NOW, site=Site("a.example"), off=True))
    facts: dict[str, Any] = {
        "host": ready,
        "queued": behind(0),
        "is_seen": True,
        "definition": paused,
    }
    why("three gates closed", **facts, gates=gates(ready, paused, Speed("", pages=0.0), off))


def test_effects_of_a_failure_are_on_one_line(why: Why) -> None:
    retry = PlanRow(
        DEFAULT_CRAWL, HOST, URL, NOW + 60, reason="attempt 2 after server_error", attempt=1
    )
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=1, done=1, crawl=DEFAULT_CRAWL)
    failing = host(
        condition=Condition.BACKING_OFF,
        ready_at=NOW + 600,
        backoff_cause=Outcome.SERVER_ERROR,
        lease=lease,
    )
    error = visit(outcome=Outcome.SERVER_ERROR, status=500)
    why("its host failed in a row", False, visit=error, host=failing, plan=retry)
    why("its host backs off", visit=error, host=failing, plan=retry)
    why("its host had failed", False, visit=error, host=host(), plan=retry)
    given_up = replace(error, attempt=0, earlier=1)
    why("given up", False, visit=given_up, host=host())
    down = visit(outcome=Outcome.HOST_DOWN, status=0, reason="Connection refused")
    waits = replace(down, attempt=0, queued=True)
    history = (HistoryRow(DEFAULT_CRAWL, url=URL, at=NOW, outcome=Outcome.HOST_DOWN),)
    why("first in its queue", False, visit=waits, host=host(), queued=behind(0), history=history)
    robots = replace(down, attempt=0, earlier=1, reason="robots.txt: Connection refused")
    why("given up with robots.txt", False, visit=robots, host=host())


def test_outcome_that_changes_nothing_more_has_no_line_of_effects(why: Why) -> None:
    why("a page", False, visit=visit(), host=host())
    why("a 404", False, visit=visit(outcome=Outcome.GONE, status=404), host=host())
    refused = visit(outcome="blacklisted", status=0, attempt=0, earlier=2, reason="forbidden")
    why("excluded after two visits", False, visit=refused, host=host())


def test_each_shown_fate_of_a_queued_url_is_printed(why: Why) -> None:
    head = QueueHead(Fate.VISIT, behind(3).url)
    heads = {
        "forwarded": head._replace(target="http://b.example/page"),
        "answered": head,
        "excluded": head._replace(exclusion=Exclusion(Hazard.OUT_OF_SCOPE, "out of scope")),
        "moved": head._replace(rank=20),
    }
    assert heads.keys() == {fate.name for fate in QUEUE_FATES if fate.is_shown}
    ready = host(condition=Condition.READY)
    for fate in QUEUE_FATES:
        if fate.is_shown:
            shown = (fate, heads[fate.name])
            why(fate.name, False, host=ready, queued=behind(3), definition=DEFINED, fate=shown)
    lease = Lease(OrderId("1.7"), NOW - 60, NOW, ordered=3, done=1, crawl=DEFAULT_CRAWL)
    out = host(condition=Condition.CHECKED_OUT, lease=lease)
    why("in an order", False, host=out, queued=behind(1), fate=shown)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, None),
        ({"scope": 'domain("b.example")'}, "out of scope, by domain('b.example')"),
        ({"strategy": "seeds-first"}, "rank 20"),
    ],
)
def test_fate_of_a_queued_url_follows_a_changed_crawl(
    changed: dict[str, str], line: str | None, tmp_path: Path
) -> None:
    opened = Folder(tmp_path).create()
    opened.log.append([encode(replace(DEFINED, **{"strategy": "breadth", **changed}))])
    queues = HostQueues(opened.store.table(QueuedUrl), DEFAULT_CRAWL)
    found = QueuedUrl(DEFAULT_CRAWL, "", 0, URL, request_number(0, 1), Origin(depth=1))
    put_rows(opened.store, queues.append(host(condition=Condition.READY), [found]))
    opened.store.flush()
    opened.database.close()
    with open_crawl(None, tmp_path) as crawl:
        explained = explain(read_facts(crawl, URL, NOW), NOW)
    assert explained.queued
    fate = explained.queued.fate
    assert (fate.detail if fate else None) == line
    printed = [one for one in brief_details(explained) if "at the head of its queue" in one]
    assert len(printed) == (line is not None)


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
    assert (facts.discovered_by, facts.is_seen, facts.ahead) == ("seed", True, None)
    assert (nothing.visit, nothing.discovered_by, nothing.is_seen) == (None, "", False)
    assert nothing.robots == rows[4]


def test_finder_of_a_queued_url_is_read_from_the_queue(tmp_path: Path) -> None:
    opened = Folder(tmp_path).create()
    queues = HostQueues(opened.store.table(QueuedUrl), DEFAULT_CRAWL)
    row = host(condition=Condition.READY)
    for number, url in enumerate((f"{HOST}/first", URL), 1):
        origin = Origin(via=f"1.0.0@{HOST}/{number}")
        row = queues.append(row, [QueuedUrl(DEFAULT_CRAWL, "", 0, url, number, origin)])
    opened.store.table(HostRow).put(row)
    out = {
        HostKey("https://a.example"): Site("a.example"),
        HostKey("http://b.example"): Site("b.example"),
    }
    partition = partition_key(partition_of("a.example", PARTITIONS), PARTITIONS)
    opened.store.table(PartitionTallyRow).put(PartitionTallyRow(partition, checked_out=out))
    opened.store.flush()
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        facts = read_facts(crawl, URL, NOW)
    assert (facts.discovered_by, facts.ahead, facts.is_seen) == (f"1.0.0@{HOST}/2", 1, True)
    assert facts.gates and facts.gates.host.neighbours == ["https://a.example"]
    with open_crawl(None, tmp_path) as crawl:
        stopped = read_facts(crawl, URL, NOW)
        opened.folder.lock()
        facts = read_facts(crawl, URL, NOW)
    assert [name for name, _ in stopped.closed_gates] == ["crawl", "run"]
    found = explain(facts, NOW)
    assert found.queued
    names = [gate.gate for gate in found.queued.closed_gates]
    assert names == ["crawl", "name"], "four hosts of a site may be visited at once"
