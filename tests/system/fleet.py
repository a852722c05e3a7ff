"""A fleet as its operator sees it: some instances of each service, each a process of its own.

Nothing here or in the tests beside it imports the crawler: they use it as a user does.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError

from tests.servers import free_ports
from tests.support.commands import Done
from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, measure

from .assertions import (
    assert_pages,
    assert_polite,
    assert_thorough,
    captures_in,
    page_answers,
    readable,
)
from .crawl import CONTACT, GOSSAMER, LOOPBACK, Fields, environment, run

SERVICES = ("frontier", "fetcher", "parser", "dedup", "archive")
MAX_EXPLAINED = 3
"""Missing URLs that a failed test explains."""
AT_WORK = re.compile(
    r'^gossamer_hosts\{condition="(?:ready|delayed|checked out)"\} (\S+)$', re.MULTILINE
)
LAG = re.compile(r'^gossamer_consumer_lag\{[^}]*topic="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE)


class Member:
    """One process of the fleet. After a kill it may be started again under its name."""

    def __init__(self, fleet: "Fleet", service: str, number: int) -> None:
        self.fleet, self.service, self.name = fleet, service, f"{service}-{number}"
        self.port = free_ports(1)
        self.process: subprocess.Popen[bytes] | None = None
        self.log = fleet.folder / f"{self.name}.log"

    def start(self, **more: str) -> None:
        """Start the process, and do not wait. *more* is added to its environment."""
        own = {
            "GOSSAMER_SERVICE__INSTANCE": self.name,
            "GOSSAMER_SERVICE__ADDRESS": "127.0.0.1",
            "GOSSAMER_SERVICE__PORT": str(self.port),
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"gossamer.services.{self.service}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment("", **{**self.fleet.settings, **own, **more}),
                start_new_session=True,
            )

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text; status 0 if nobody answers."""
        try:
            url = f"http://127.0.0.1:{self.port}{path}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                return int(answer.status), answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    @property
    def ready(self) -> bool:
        """Return whether the process is ready; fail with its output if it has ended."""
        assert self.running, f"{self.name} ended: {self.output()}"
        return self.get("/readyz")[0] == 200

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def signal(self, number: int) -> None:
        """Send a signal to the process and its children."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the process and its children."""
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait(HANG_TIMEOUT)

    def stop(self) -> int:
        """Send SIGTERM to the process alone, as an orchestrator does; return its exit status."""
        assert self.process
        self.process.terminate()
        return self.process.wait(HANG_TIMEOUT)


class Fleet:
    """Members over one world. *settings* name the servers."""

    def __init__(self, web: SynthWeb, folder: Path, **settings: str) -> None:
        self.web, self.folder = web, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.members: list[Member] = []
        self.settings = {
            "GOSSAMER_KAFKA__PARTITIONS": "6",
            "GOSSAMER_KAFKA__SESSION": "6",
            "GOSSAMER_CRAWL__SCOPE": "any()",
            "GOSSAMER_FETCHER__CONTACT": CONTACT,
            "GOSSAMER_FETCHER__NAMESERVER": web.nameserver,
            "GOSSAMER_FETCHER__ALLOW_NETWORKS": json.dumps([LOOPBACK[1]]),
            "GOSSAMER_PARSER__WORKERS": "1",
            "GOSSAMER_ARCHIVE__FOLDER": str(folder / "warc"),
            "GOSSAMER_DEDUP__FOLDER": str(folder / "dedup"),
            **settings,
        }

    def up(self, count: int) -> None:
        """Create topics and tables, and start *count* instances of each service."""
        for job in ("topics", "store"):
            done = self.gossamer(job, "apply")
            assert done.code == 0, done
        for number in range(1, count + 1):
            for service in SERVICES:
                self.add(service, number)
        self.await_ready()

    def add(self, service: str, number: int) -> Member:
        """Start one more instance."""
        self.members.append(member := Member(self, service, number))
        member.start()
        return member

    def stop(self) -> None:
        """Stop all members, as an orchestrator does."""
        for member in self.members:
            assert member.stop() == 0, member.output()

    def start(self) -> None:
        """Start all members again."""
        for member in self.members:
            member.start()

    def rest(self) -> None:
        """Stop the crawl, and wait until all records are consumed."""
        assert self.gossamer("speed", "0").code == 0
        until(lambda: not any(self.lag().values()) and self.idle(), "the fleet is at rest")

    def resume(self) -> None:
        """Start all members again after a rest, and let the crawl go on."""
        self.start()
        self.await_ready()
        assert self.gossamer("speed", "none").code == 0

    def of(self, service: str) -> list[Member]:
        return [member for member in self.members if member.service == service]

    def await_ready(self) -> None:
        """Wait until all members are ready."""
        until(lambda: all(member.ready for member in self.members), "readiness of all")

    def gossamer(self, *words: str) -> Done:
        """Run a command on the fleet."""
        return run([GOSSAMER, *words], **self.settings)

    def seed(self) -> None:
        done = self.gossamer("seed", *self.web.seeds)
        assert done.code == 0, done

    def change_when_stopped(self, *words: str) -> Done:
        """Run a command that needs groups without members, until it succeeds.

        Kafka counts stopped processes as members for a session.
        """
        results: list[Done] = []

        def has_changed() -> bool:
            results.append(self.gossamer(*words))
            return results[-1].code == 0

        until(has_changed, "the groups have no members any more")
        return results[-1]

    def await_pages(self, count: int, what: str = "more pages") -> None:
        """Wait for *count* more pages; fail if the crawl ends meanwhile."""
        enough = len(page_answers(self.web)) + count
        until(lambda: len(page_answers(self.web)) >= enough or self.web.is_complete(), what)
        assert not self.web.is_complete(), f"the crawl ended too soon: {what}"

    def pages(self) -> list[Fields]:
        done = self.gossamer("pages")
        assert done.code == 0, done.err[-2000:]
        return [json.loads(line) for line in done.out.splitlines()]

    def lag(self) -> dict[str, float]:
        """Return the lag of each topic's slowest group, as a scraper sees it."""
        lags: dict[str, float] = {}
        for member in self.members:
            if member.running:
                for topic, records in LAG.findall(member.get("/metrics")[1]):
                    lags[topic] = max(lags.get(topic, 0.0), float(records))
        return lags

    def hosts_at_work(self) -> float:
        """Return the number of hosts with queued URLs that do not back off."""
        pages = [one.get("/metrics")[1] for one in self.of("frontier") if one.running]
        return sum(float(hosts) for page in pages for hosts in AT_WORK.findall(page))

    def states(self) -> str:
        """Return the lag of all topics, and what each running member says, for a failed test."""
        running = [one for one in self.members if one.running]
        said = [f"{one.name}: {one.get('/readyz')} {one.output()}" for one in running]
        return "\n".join([str(self.lag()), *said])

    def idle(self) -> bool:
        """Return whether all topics are consumed, and the web had no requests for a while."""
        lag, before = self.lag(), len(self.web.requests())
        if not lag or any(lag.values()):
            return False
        time.sleep(2.0)
        return len(self.web.requests()) == before and not any(self.lag().values())

    def down(self) -> None:
        """Kill all members."""
        for member in self.members:
            member.signal(signal.SIGCONT)
            member.kill()


def of_short_leases(delay: float, batch: int) -> dict[str, str]:
    """Return settings of a crawl whose unanswered orders expire soon after their visits."""
    return {
        "GOSSAMER_FRONTIER__DELAY": str(delay),
        "GOSSAMER_FRONTIER__BATCH": str(batch),
        "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
        "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    }


@contextmanager
def fleet(web: SynthWeb, folder: Path, count: int, **settings: str) -> Iterator[Fleet]:
    """Yield a fleet that is ready; kill all of it at the end."""
    live_fleet = Fleet(web, folder, **settings)
    try:
        live_fleet.up(count)
        yield live_fleet
    finally:
        live_fleet.down()


def assert_whole(live_fleet: Fleet, delay: float) -> int:
    """Assert that all promises hold at the end; return the number of repeated requests."""
    requests, truth = live_fleet.web.requests(), live_fleet.web.truth
    assert_polite(requests, truth, delay)
    assert_thorough(requests, truth)
    assert_pages(live_fleet, truth)
    letters = live_fleet.gossamer("dead-letters", "list")
    assert (letters.code, letters.out) == (0, ""), letters
    for member in live_fleet.of("archive"):
        assert not member.running or member.stop() == 0
    found = Counter(
        at for folder in (live_fleet.folder / "warc").iterdir() for at in captures_in(folder)
    )
    assert {url for url, status in found if status == 200} >= readable(truth)
    assert not list((live_fleet.folder / "warc").rglob("*.open"))
    again = measure.repeated_requests(requests)
    return sum(times - 1 for url, times in again.items() if url not in truth.retried)


def crawl_to_the_end(live_fleet: Fleet) -> None:
    """Wait until all required URLs are requested and no work is left."""
    request_count, latest = -1, 0.0
    while not (
        live_fleet.web.is_complete() and not live_fleet.hosts_at_work() and live_fleet.idle()
    ):
        if (now := len(live_fleet.web.requests())) != request_count:
            request_count, latest = now, time.monotonic() + HANG_TIMEOUT
        assert time.monotonic() < latest, f"no further requests: {explain_end(live_fleet)}"
        time.sleep(0.5)


def explain_end(live_fleet: Fleet) -> str:
    """Return what the operator of a crawl that does not go on sees: the missing URLs, the dead
    letters, and the states of the members."""
    requested = measure.requested_urls(live_fleet.web.requests())
    missing = sorted(live_fleet.web.truth.required - requested)
    commands = [("dead-letters", "list"), *(("why", url) for url in missing[:MAX_EXPLAINED])]
    said = [live_fleet.gossamer(*command).out for command in commands]
    return "\n".join([f"{len(missing)} URLs are missing", *said, live_fleet.states()])
