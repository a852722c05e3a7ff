"""Two versions of the crawler at once, while a fleet is upgraded and rolled back under load.

The newer one is a copy of this tree with raised versions of two events, and an additional event,
field and column.
"""

import shutil
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import page_answers
from .by_hand import of_servers
from .fleet import Fleet, Member, assert_whole, crawl_to_the_end, fleet, of_short_leases

ROOT = Path(__file__).resolve().parents[2]
WORLD = World(seed=19, hosts=12, pages=78, silent=0, stuck=0, retries=0, delays=0, jitter=0.02)
DELAY, BATCH = 0.5, 3
SPEED = "6/s"
PACKAGES = ("gossamer", "services", "console", "schemas", "standalone")
READERS_FIRST = ("frontier", "dedup", "parser", "archive", "fetcher")
"""The order of an upgrade; a rollback uses the reverse order."""
WRITTEN = {
    "fetcher": ("visits.ended", "pages.fetched"),
    "parser": ("pages.parsed",),
    "dedup": ("urls.admitted", "pages.deduplicated"),
}
"""Topics whose records others must consume before they are rolled back as well."""
FRESH = 2.5
"""Seconds after which a reported lag is current."""
EDITS = (
    (
        "gossamer/events/records.py",
        "class VisitEnded(",
        'class HostMet(Event, frozen=True, kw_only=True, tag="host_met"):\n'
        '    """A host was met."""\n\n    site: str\n    host: str\n\n\nclass VisitEnded(',
    ),
    (
        "gossamer/events/records.py",
        "    index: int\n",
        '    version: int = 2\n    protocol: str = "1.1"\n    index: int\n',
    ),
    (
        "gossamer/events/pages.py",
        '    simhash: str = ""\n',
        '    version: int = 2\n    simhash: str = ""\n',
    ),
    (
        "schemas/topics/visits.ended.yaml",
        "events:\n",
        "events:\n  - event: host_met\n    key: site\n",
    ),
    (
        "services/fetcher/service.py",
        "        self._emitter(*events)\n",
        "        from gossamer.events.records import HostMet\n\n"
        "        site, host = self.order.site, self.order.host\n"
        "        self._emitter(*events, HostMet(at=self.now(), site=site, host=host))\n",
    ),
    (
        "services/frontier/service.py",
        "            VisitEnded: self._check_in_visit,\n",
        "            VisitEnded: self._check_in_visit,\n"
        "            HostMet: lambda partition, share, event, now: None,\n",
    ),
    (
        "services/frontier/service.py",
        "from gossamer.log import MAX_POLL_RECORDS, Record\n",
        "from gossamer.events.records import HostMet\n"
        "from gossamer.log import MAX_POLL_RECORDS, Record\n",
    ),
    (
        "services/frontier/tables/hosts.py",
        "    politeness: Politeness = Politeness()\n",
        "    politeness: Politeness = Politeness()\n    met: int = 0\n",
    ),
    (
        "services/frontier/features/strain.py",
        "    return replace(row, politeness=replace(before, usual_took=usual, strain=strain))\n",
        "    row = replace(row, met=row.met + 1)\n"
        "    return replace(row, politeness=replace(before, usual_took=usual, strain=strain))\n",
    ),
)
"""A file, a text in it, and the text in the newer version."""


def newer_version(folder: Path) -> Path:
    """Return the folder of a newer version of the crawler."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name, before, after in EDITS:
        text = (folder / name).read_text()
        assert text.count(before) == 1, f"{name}: {before}"
        (folder / name).write_text(text.replace(before, after))
    return folder


class Upgrade:
    """Brings the members of a fleet to another version, one by one."""

    def __init__(self, live_fleet: Fleet) -> None:
        self.live_fleet = live_fleet

    def prepare(self, version: Path) -> None:
        """Apply topics and tables for this version."""
        before, self.live_fleet.settings["PYTHONPATH"] = (
            self.live_fleet.settings["PYTHONPATH"],
            str(version),
        )
        for job in ("store", "topics"):
            done = self.live_fleet.gossamer(job, "apply")
            assert done.code == 0, done
        self.live_fleet.settings["PYTHONPATH"] = before

    def replace(self, member: Member, version: Path) -> None:
        assert member.stop() == 0, member.output()
        member.start(PYTHONPATH=str(version))

    def bring(self, service: str, version: Path) -> None:
        """Replace all members of *service*, one by one."""
        for member in self.live_fleet.of(service):
            self.replace(member, version)
            until(partial(self.is_up, member), f"{member.name} is up")

    def is_up(self, member: Member) -> bool:
        """Return whether the process works, or reports that it waits for its upgrade."""
        status, text = member.get("/readyz")
        return member.running and (status == 200 or "upgrade this service" in text)

    def await_pages(self) -> None:
        """Wait until pages arrive as before, or all are done."""
        web, before = self.live_fleet.web, len(page_answers(self.live_fleet.web))
        until(lambda: len(page_answers(web)) >= before + 5 or web.is_complete(), "more pages")

    def await_read(self, service: str) -> None:
        """Wait until all records are consumed that *service* wrote before it was replaced."""
        before = len(self.live_fleet.web.requests())
        time.sleep(FRESH)
        for topic in WRITTEN.get(service, ()):
            until(partial(self.is_read, topic, before), f"{topic} is read")

    def is_read(self, topic: str, before: int) -> bool:
        """Return whether the lag is smaller than the number of records since that number of
        requests."""
        since = len(self.live_fleet.web.requests()) - before
        return self.live_fleet.lag().get(topic, 0.0) <= since / 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_fleet_is_upgraded_and_rolled_back_under_load(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    older, newer = ROOT, newer_version(tmp_path / "newer")
    settings = {
        **of_servers(kafka, cassandra),
        "PYTHONPATH": str(older),
        "PYTHONSAFEPATH": "1",  # Not the folder of the tests.
        **of_short_leases(DELAY, BATCH),
    }
    with SynthWeb(WORLD) as web, fleet(web, tmp_path / "fleet", 1, **settings) as live_fleet:
        for service in ("frontier", "fetcher"):
            live_fleet.add(service, 2)
        live_fleet.await_ready()
        live_fleet.seed()
        upgrade = Upgrade(live_fleet)
        live_fleet.await_pages(15)
        # The crawl must last until the last process was replaced.
        assert live_fleet.gossamer("speed", SPEED).code == 0
        upgrade.prepare(newer)

        # A fetcher that is upgraded too early: its records wait for a frontier that can read them.
        upgrade.replace(live_fleet.of("fetcher")[0], newer)
        until(
            lambda: any(
                "upgrade this service: it waits at visits.ended" in one.get("/readyz")[1]
                for one in live_fleet.of("frontier")
            ),
            "a frontier says that it is to be upgraded",
        )
        assert all(one.get("/healthz")[0] == 200 for one in live_fleet.of("frontier"))

        for service in READERS_FIRST:
            upgrade.bring(service, newer)
            upgrade.await_pages()
        live_fleet.await_ready()
        assert not web.is_complete(), "the crawl was over too soon"
        assert live_fleet.gossamer("speed", "none").code == 0
        for service in reversed(READERS_FIRST):
            upgrade.bring(service, older)
            upgrade.await_read(service)
        live_fleet.await_ready()
        print(f"{len(page_answers(web))} pages when it was rolled back, over: {web.is_complete()}")

        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{len(page_answers(web))} pages, {repeated} repeated")
        # Waiting outcomes are of fetched pages; a host is ordered again only if no outcome was
        # consumed.
        assert repeated <= 2 * BATCH * WORLD.hosts
