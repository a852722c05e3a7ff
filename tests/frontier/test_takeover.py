"""A frontier that takes partitions over: its reads, its clocks and its leases."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.errors import GossamerError, Poison
from gossamer.events import Discovery, Event, Outcome, UrlsAdmitted, VisitEnded
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.services.frontier.choice.dispatch import MAX_LOADED_PER_STEP, MAX_READS_PER_STEP
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.store.claims import ClaimRow
from gossamer.store.sqlite import SqliteTable
from gossamer.web.url import HostKey, Site
from tests.flow.test_flow import virtual_crawl
from tests.frontier.simulation import PARTITIONS, START, Simulation, crawl


def test_takeover_reads_hosts_in_batches_and_steps(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sim = Simulation(loaded_limit=2000, checked_out_limit=1)
    sim.admit(*(f"http://h{n}.test/" for n in range(1200)))
    while sim.frontier.due() == 0.0 and not sim.orders:
        sim.step()
    single, steps, get = [], [], SqliteTable.get

    def count_reads(table, *keys):  # type: ignore[no-untyped-def]
        single.append(table.row)
        return get(table, *keys)

    read_all = SqliteTable.get_all

    def many(table, keys):  # type: ignore[no-untyped-def]
        before = len(single)
        found = read_all(table, keys)
        del single[before:]
        if table.row is HostRow:
            steps.append(len(keys))
        return found

    monkeypatch.setattr(SqliteTable, "get", count_reads)
    monkeypatch.setattr(SqliteTable, "get_all", many)
    sim.start()
    # The log is polled between two steps, and more work is due at once.
    out = len(sim.orders)
    assert sim.loaded() <= MAX_LOADED_PER_STEP + out
    assert sim.frontier.due() == 0.0
    for _ in range(3):
        sim.step()
    assert sim.loaded() == 1200
    assert single.count(HostRow) == 0
    assert sum(steps) == 1200 and max(steps) <= MAX_LOADED_PER_STEP


def test_partition_that_catches_up_holds_up_no_other() -> None:
    """Neither its orders nor the ends of its leases wait."""
    sim = Simulation(lambda url: {"took": 1.0}, alone=False, delay=1.0, probe_after=0)
    sites = [Site(f"h{n}.test") for n in range(40)]
    sim.read_partitions = frozenset({partition_of(sites[0], PARTITIONS)})
    sim.frontier.assign(sim.read_partitions, sim.now)
    before = [site for site in sites if partition_of(site, PARTITIONS) in sim.read_partitions]
    sim.admit(*(f"http://{site}/{n}" for site in before for n in range(100)))
    sim.run(START + 20)
    sim.lose()
    sim.frontier.assign(frozenset(range(PARTITIONS)), sim.now)
    sim.admit(*(f"http://{site}/" for site in sites if site not in before))
    claimed, made = sim.now, len(sim.orders)
    sim.run(claimed + 3600.0)
    assert {order.site for _, order in sim.orders[made:]} == {*before}
    sim.read_partitions = frozenset(range(PARTITIONS))
    sim.catch_up()
    sim.run()
    assert {order.site for _, order in sim.orders[made:]} == {*sites}


def test_new_owner_makes_no_order_beside_one_of_former_owner() -> None:
    sim = Simulation(
        lambda url: {"took": 60.0}, loaded_limit=2000, checked_out_limit=300, alone=False
    )
    # Two hosts of each site; the orders are lost with the first owner.
    sim.admit(*(f"{scheme}://s{n}.test/" for n in range(400) for scheme in ("http", "https")))
    while len(sim.orders) < 300:
        sim.step()
    former = {order.host for _, order in sim.orders}
    for _, order in sim.orders:
        sim.report_begun(order)
    sim.lose()
    sim.settings = sim.settings.model_copy(update={"checked_out_limit": 600})
    sim.start()
    began = sim.now
    sim.now += 10.0
    while len(sim.orders) < 400:
        sim.run(steps=1)
    assert sim.now == began + 10.0, "at once"
    later = {order.host for _, order in sim.orders[300:]}
    # No order for the other host of a site: the former owner's fetcher may be visiting the site.
    assert len(later) == 100 and not later & former
    assert not {host.split("://")[1] for host in later} & {one.split("://")[1] for one in former}


def test_stale_entries_are_skipped_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(loaded_limit=1)
    sim.admit("http://real.test/")
    listed = [f"http://gone{n}.test" for n in range(100)]
    for number, host in enumerate(listed, 1):
        site = host.removeprefix("http://")
        sim.share(Site(site)).directory.enlist(Site(site), HostKey(host), number)
    sim.step()
    reads = []
    read_all = SqliteTable.get_all

    def count_reads(table, keys):  # type: ignore[no-untyped-def]
        reads.append(table.row)
        return read_all(table, keys)

    monkeypatch.setattr(SqliteTable, "get_all", count_reads)
    sim.start()
    assert reads.count(HostRow) <= MAX_READS_PER_STEP
    assert sim.frontier.due() == 0.0, "it goes on at once"
    sim.run()
    assert sim.pages() == ["http://real.test/"]


def test_outcome_of_unloaded_host_is_applied() -> None:
    sim = Simulation(alone=False)
    sim.admit(*(f"http://h{n}.test/{m}" for n in range(4) for m in range(2)))
    sim.step()
    reports = sim.lose()
    assert len(reports) == 4
    sim.settings = sim.settings.model_copy(update={"loaded_limit": 1})
    sim.start()
    sim.now += 1.0
    for report in reports:
        sim.handle(
            replace(report, outcome=Outcome.BUSY, status=429, retry_after=3600.0, robots=None)
        )
    rows = sim.database._db.execute("SELECT condition, count(*) FROM hosts GROUP BY condition")
    assert dict(rows.fetchall()) == {Condition.BACKING_OFF: 4}
    orders = len(sim.orders)
    sim.run(until=START + 3600.0)
    assert len(sim.orders) == orders
    sim.run()
    assert len(sim.pages()) == 8


def busy(report: VisitEnded) -> VisitEnded:
    """Return the outcome as a 429 with a Retry-After of one hour."""
    return replace(
        report, outcome=Outcome.BUSY, status=429, retry_after=3600.0, robots=None, last=True
    )


def test_restored_store_obeys_retry_after_of_unknown_host() -> None:
    newer, older = Simulation(alone=False), Simulation(alone=False)
    newer.admit("http://a.test/")
    newer.step()
    (report,) = newer.lose()
    older.handle(busy(report))
    older.admit("http://a.test/")
    older.run(until=START + 3599.0)
    assert not older.orders
    older.run()
    assert older.pages() == ["http://a.test/"]


def answer_late(sim: Simulation, reports: list[VisitEnded]) -> None:
    """Apply the unread outcomes now: all hosts sent a Retry-After of one hour, which is nearly
    over."""
    said = sim.now
    for report in reports:
        sim.handle(busy(report))
    sim.catch_up()
    sim.run(until=said + 3599.0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("down", [1.0, 10_000.0])
def test_unread_outcomes_are_applied_before_first_order(alone: bool, down: float) -> None:
    sim = Simulation(alone=alone)
    sim.admit(*(f"http://h{n}.test/{m}" for n in range(4) for m in range(2)))
    sim.step()
    reports = sim.lose()
    sim.now += down
    sim.unread = True
    sim.start()
    orders = len(sim.orders)
    sim.run(until=sim.now + 1000.0)
    answer_late(sim, reports)
    assert len(sim.orders) == orders
    sim.run()
    assert len(sim.pages()) == 8


def test_unread_outcome_is_applied_before_lease_ends() -> None:
    sim = Simulation(alone=False)
    sim.admit("http://a.test/")
    sim.step()
    reports, orders = sim.lose(), len(sim.orders)
    sim.unread = True
    sim.run(until=sim.now + 10_000.0)
    assert len(sim.orders) == orders
    answer_late(sim, reports)
    assert len(sim.orders) == orders
    sim.run()
    assert len(sim.pages()) == 1


def test_outcomes_after_the_lease_stop_no_host() -> None:
    sim = Simulation(alone=False, batch=3, retries=0)
    sim.admit(*(f"http://a.test/{n}" for n in range(3)))
    while len(sim.orders) < 2:
        sim.run(steps=1)
    reports = sim.lose()
    sim.handle(crawl(paused=True))
    sim.run(until=sim.now + 10_000.0)
    for report in reports:
        sim.handle(replace(report, outcome=Outcome.SERVER_ERROR, status=500))
    sim.handle(crawl())
    sim.run()
    assert (
        sim.partition(Site("a.test")).find(Site("a.test"), HostKey("http://a.test")).row.condition
        is Condition.IDLE
    )


def test_partition_added_to_running_crawl_is_refused() -> None:
    sim = Simulation()
    with pytest.raises(GossamerError, match="partition 4 was added"):
        sim.frontier.assign(frozenset(range(5)), sim.now)


def test_record_on_wrong_partition_is_poison() -> None:
    sim = Simulation()
    sim.frontier.assign(frozenset({partition_of("b.test", 4)}), sim.now)
    urls = (Discovery("http://a.test/"),)
    assert partition_of("a.test", 4) != partition_of("b.test", 4)
    with pytest.raises(Poison, match="murmur2"):
        sim.handle(UrlsAdmitted(at=START, site=Site("a.test"), via="v", urls=urls))
    assert not sim.store.table(HostRow).scan("a.test")


def test_failing_handler_leaves_hosts_unchanged(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, {"http://a.test/": [], "http://b.test/": []}, 0.1)
    crawl.define()
    urls = (Discovery("http://a.test/"), Discovery("no URL"))
    crawl.log.append(
        [
            encode(
                UrlsAdmitted(
                    at=START, site=Site("b.test"), via="v", urls=(Discovery("http://b.test/"),)
                )
            ),
            encode(UrlsAdmitted(at=START, site=Site("a.test"), via="v", urls=urls)),
        ]
    )
    assert crawl.run()
    assert {url for _, _, url in crawl.requests} == {"http://b.test/robots.txt", "http://b.test/"}
    assert len(crawl.log.tail([DEAD_LETTERS.name]).poll(0)) == 1


def test_record_that_fails_handler_keeps_claim_and_orders() -> None:
    sim = Simulation(batch=1, delay=10.0, alone=False)
    sim.admit("http://a.test/1", "http://a.test/2", "http://a.test/3")
    while len(sim.orders) < 2:
        sim.run(steps=1)
    claims, (ordered_at, _) = [*sim.store.table(ClaimRow).everything()], sim.orders[-1]
    sim.store.discard()
    sim.frontier.restart(frozenset(range(4)), sim.now)
    sim.catch_up()
    sim.run()
    assert [*sim.store.table(ClaimRow).everything()] == claims
    urls = [visit.url for _, one in sim.orders[1:] for visit in one.visits]
    assert urls == ["http://a.test/1", "http://a.test/2", "http://a.test/3"]
    assert sim.orders[2][0] >= ordered_at + 10.0


@pytest.mark.parametrize("wrong", [600.0, -600.0])
def test_lease_keeps_its_length_under_any_clock_of_next_owner(wrong: float) -> None:
    sim = Simulation(batch=1, alone=False)
    sim.admit("http://a.test/")
    sim.step()
    [(_, order)] = sim.orders
    whole = order.expires_at - order.at
    sim.report_begun(order)
    sim.lose()
    sim.now += wrong
    claimed = sim.now
    sim.start()
    sim.run()
    assert sim.orders[1][0] >= claimed + whole
    assert sim.orders[1][0] <= claimed + whole + 10.0


def test_host_is_delayed_after_clock_change() -> None:
    sim = Simulation(batch=1, delay=30.0)
    sim.admit("http://a.test/1", "http://a.test/2")
    while len(sim.orders) < 2:
        sim.run(steps=1)
    sim.run(steps=1)
    set_at = sim.now = sim.now + 600.0
    sim.frontier.reload_after_clock_set(frozenset(range(4)), sim.now)
    sim.catch_up()
    sim.run()
    assert sim.orders[2][0] >= set_at + 30.0


def test_courtesy_delay_follows_visit_of_former_owner() -> None:
    sim = Simulation(batch=1, delay=10.0, alone=False)
    sim.admit("http://a.test/1")
    while len(sim.orders) < 2:  # The first is for robots.txt.
        sim.run(steps=1)
    [report] = sim.lose()
    sim.start()
    ended_at = sim.now = sim.now + 20.0
    sim.handle(replace(report, at=ended_at))
    sim.admit("http://a.test/2")
    sim.run()
    assert sim.orders[2][0] >= ended_at + 10.0


class Former:
    """The former owner of the partitions of *sim*, which continues: its writes still reach the
    store."""

    def __init__(self, sim: Simulation) -> None:
        self.frontier, self.store = sim.frontier, sim.store

    def handle(self, event: Event, now: float) -> None:
        """Handle *event* and write; its messages are dropped."""
        self.frontier.handle(event, now)
        self._write()

    def wake(self, now: float) -> None:
        """Wake and write; its messages are dropped."""
        assert [*self.frontier.wake(now)]
        self._write()

    def _write(self) -> None:
        self.frontier.settle()
        self.store.flush()


def test_host_ordered_late_by_former_owner_is_found() -> None:
    sim = Simulation(alone=False, batch=1)
    sim.admit("http://a.test/")
    sim.step()
    [report] = sim.lose()
    sim.handle(busy(report))
    former = Former(sim)
    sim.start()
    former.wake(sim.now + 3600.0)
    sim.run()
    assert sim.pages() == ["http://a.test/"]


def test_host_admitted_late_by_former_owner_is_found() -> None:
    sim = Simulation(alone=False)
    former = Former(sim)
    sim.start()
    urls = (Discovery("http://a.test/"),)
    admitted = UrlsAdmitted(at=START, site=Site("a.test"), via="test", urls=urls)
    former.handle(admitted, sim.now)
    sim.handle(replace(admitted, repeated=True))
    sim.run()
    assert sim.pages() == ["http://a.test/"]


def test_backoff_set_late_by_former_owner_ends() -> None:
    sim = Simulation(alone=False)
    sim.admit("http://a.test/", "http://b.test/")
    sim.step()
    reports = sim.lose()
    assert len(reports) == 2
    former = Former(sim)
    sim.settings = sim.settings.model_copy(update={"loaded_limit": 1})
    sim.start()
    for report in map(busy, reports):
        former.handle(report, sim.now)
        sim.handle(report)
    sim.run()
    assert {*sim.pages()} == {"http://a.test/", "http://b.test/"}
