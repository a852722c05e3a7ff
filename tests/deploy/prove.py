"""Deploys the fleet for real, crawls a small web with it, and uses its console:
`python -m tests.deploy.prove`.

It deploys with Docker Compose, then on Kubernetes with the local overlay; an argument `compose` or
`kubernetes` selects one. It needs Docker, and a cluster that kubectl can reach. Two environment
variables adapt it to a machine: GOSSAMER_BUILD_OPTIONS is added to `docker build`, and
GOSSAMER_LOAD_IMAGE is a command that loads the images, its arguments, into the cluster's nodes.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.synthweb import measure
from tests.synthweb.record import Request, read_requests
from tests.system.assertions import assert_polite

from . import smallweb
from .deployments import NAMESPACE, Compose, Deployment, Kubernetes, build, remove_at_end

TIMEOUT = 900.0
"""Seconds after which a condition counts as never met."""
CHECK_INTERVAL = 2.0
BROKER = "localhost:9092"
NOTIFIER = "gossamer-notifications"
"""The user agent of webhooks."""
_started_at = time.monotonic()


def report(text: str) -> None:
    print(f"{time.monotonic() - _started_at:6.0f} s  {text}", flush=True)


class Proof:
    """The crawl of the small web by one fleet, from its start to the comparison with the truth."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self._deployment, self._record = deployment, folder / "requests.jsonl"
        self._truth, self._atlas = smallweb.truth(), smallweb.atlas()

    def run(self) -> None:
        started_at = time.monotonic()
        self._deployment.start()
        report(
            f"{self._deployment.name}: all are ready after {time.monotonic() - started_at:.0f} s"
        )
        self._seed()
        self._await_requests(0.25)
        self._disturb(self._deployment.interrupt)
        self._await_requests(0.5)
        self._scale()
        self._await_requests(0.75)
        self._disturb(self._deployment.replace)
        self._await_requests(1.0)
        self._await(lambda: self._pages() >= self._truth.pages, "all pages are published")
        self._check_result()
        self._seed_again()
        self._use_console()

    def _seed(self) -> None:
        """Add half of the seeds as text with Kafka's own producer, and half with our command."""
        by_kafka, added = self._atlas.seeds[::2], self._atlas.seeds[1::2]
        producer = "/opt/kafka/bin/kafka-console-producer.sh"
        lines = "".join(f"{url}\n" for url in by_kafka)
        where = ("--bootstrap-server", BROKER, "--topic", "seeds")
        self._deployment.ask("kafka", producer, *where, stdin=lines)
        self._deployment.ask("frontier", "gossamer", "seed", *added)
        report(
            f"seeded: {len(by_kafka)} seeds with Kafka's producer, {len(added)} with gossamer seed"
        )

    def requests(self) -> list[Request]:
        """Return the requests to the web."""
        self._record.write_text(self._deployment.ask("web", "cat", smallweb.RECORD))
        return read_requests(self._record)

    def _await_requests(self, part: float) -> None:
        required = self._truth.required
        required_count = len(required) * part
        self._await(
            lambda: len(measure.requested_urls(self.requests()) & required) >= required_count,
            f"{part:.0%} of {len(required)} URLs are requested",
        )

    def _await(self, is_met: Callable[[], bool], what: str) -> None:
        latest = time.monotonic() + TIMEOUT
        while not is_met():
            assert time.monotonic() < latest, f"timed out: {what}"
            time.sleep(CHECK_INTERVAL)
        report(what)

    def _disturb(self, how: Callable[[], str]) -> None:
        before, started_at = len(self.requests()), time.monotonic()
        what = how()
        after = len(self.requests())
        report(
            f"{what}: {time.monotonic() - started_at:.0f} s, {after - before} requests in this time"
        )

    def _scale(self) -> None:
        self._deployment.scale_fetcher(2)
        self._await(lambda: len(self._members()) == 2, "two fetchers share the partitions")

    def _members(self) -> list[str]:
        """Return the numbers of partitions of the fetchers that have any."""
        rows = [line.split() for line in self._group("fetcher", "--members")]
        return [row[-1] for row in rows if row and row[-1].isdigit() and row[-1] != "0"]

    def _group(self, name: str, *more: str) -> list[str]:
        command = "/opt/kafka/bin/kafka-consumer-groups.sh"
        where = ("--bootstrap-server", BROKER, "--describe", "--group", name)
        return self._deployment.ask("kafka", command, *where, *more).splitlines()

    def _pages(self) -> set[str]:
        lines = self._deployment.ask("frontier", "gossamer", "pages").splitlines()
        return {json.loads(line)["url"] for line in lines}

    def _foreign_pages(self) -> set[str]:
        """Return the URLs on `pages`, read by Kafka's own consumer."""
        command = "/opt/kafka/bin/kafka-console-consumer.sh"
        where = ("--bootstrap-server", BROKER, "--topic", "pages", "--from-beginning")
        lines = self._deployment.ask("kafka", command, *where, "--timeout-ms", "15000").splitlines()
        return {json.loads(line)["url"] for line in lines if line.startswith("{")}

    def _check_result(self) -> None:
        requests, truth = self.requests(), self._truth
        by_command, by_kafka, repeated = (
            self._pages(),
            self._foreign_pages(),
            measure.repeated_requests(requests),
        )
        shortest = min(gaps.start_to_start for gaps in measure.shortest_gaps(requests).values())
        report(f"{len(requests)} requests, {len(truth.required)} URLs were required")
        report(
            f"pages: {len(truth.pages)} exist, {len(by_command)} by our command, "
            f"{len(by_kafka)} by Kafka's consumer"
        )
        report(f"requested more than once: {len(repeated)} URLs")
        report(f"at one host: {len(measure.overlaps(requests))} at once, {shortest:.3f} s apart")
        assert by_command == by_kafka == truth.pages, (
            by_command ^ truth.pages,
            by_kafka ^ truth.pages,
        )
        assert_polite(requests, truth, smallweb.DELAY)
        url = self._atlas.seeds[0]
        lines = self._deployment.ask("frontier", "gossamer", "why", "--verbose", url).splitlines()
        visited = [line.strip() for line in lines if line.strip().startswith("visited: ")]
        assert visited, lines
        report(f"gossamer why {url}: {visited[-1]}")

    def _seed_again(self) -> None:
        """Add the same seeds again: no page is requested again."""
        before = len(self.requests())
        self._deployment.ask("frontier", "gossamer", "seed", *self._atlas.seeds)
        self._await(lambda: self._lag("dedup", "seeds") == 0, "the same seeds are consumed again")
        after = len(self.requests())
        report(f"the repeated seeds caused {after - before} requests")
        assert after == before

    def _lag(self, group: str, topic: str) -> int:
        rows = [line.split() for line in self._group(group)]
        behind = [row[5] for row in rows if len(row) > 5 and row[1] == topic]
        assert behind, f"the group {group} has committed nothing of {topic}"
        return sum(int(lag) if lag.isdigit() else 0 for lag in behind)

    def _use_console(self) -> None:
        """Define two crawls of one page in the console: the second takes the capture of the first.
        Kill the console before it has sent the notice of the first."""
        url = next(url for url in self._atlas.seeds[1:] if url in self._truth.pages)
        assert self._call("GET", "crawls", token="wrong")[0] == 401
        self._api("GET", f"crawls/default/capture?url={quote(url, safe='')}")
        report("the console shows an archived page")
        before = self._visits(url)
        self._define("trial", url)
        self._deployment.kill_console()
        report("the console is killed, and answers again")
        self._await(lambda: self._notices() == 1, "its webhook has the notice of the first crawl")
        self._define("again", url)
        self._await(lambda: self._notices() == 2, "its webhook has the notice of the second crawl")
        assert self._visits(url) == before + 1, "the second crawl takes the capture of the first"
        self._api("POST", "notifications/ops/test")
        self._await(lambda: self._notices() == 3, "its webhook has the test")
        found = self._api("POST", "crawls/default/fetch", urls=[url], wait=30)["urls"]
        assert [one["is_fetched"] and bool(one["document"]) for one in found] == [True], found
        report("an urgent URL is fetched, and its document returned")
        self._api("POST", "crawls/again/pause")
        self._api("DELETE", "crawls/trial")
        states = {one["crawl"]: one["state"] for one in self._api("GET", "crawls")}
        assert states == {"default": "active", "again": "paused", "trial": "removed"}
        report("one crawl is paused, another one removed")
        assert self._notices() == 3, "each notice is sent once"

    def _define(self, crawl: str, url: str) -> None:
        """Define a crawl of one page, whose limit raises a notice."""
        text = f'seeds = ["{url}"]\n[limits]\nmax_pages = 1\n[revisit]\npolicy = "none"\n'
        self._api("PUT", f"crawls/{crawl}", definition=text)

    def _visits(self, url: str) -> int:
        return len([one for one in self.requests() if one.url == url])

    def _notices(self) -> int:
        return len([one for one in self.requests() if one.agent == NOTIFIER])

    def _api(self, method: str, path: str, **data: Any) -> Any:
        """Return the answer of the API to a request of an administrator."""
        status, answer = self._call(method, path, self._deployment.token, data)
        assert status in (200, 201), (method, path, status, answer)
        return answer

    def _call(
        self, method: str, path: str, token: str, data: dict[str, Any] | None = None
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with self._deployment.console_port() as port:
            connection = HTTPConnection("localhost", port, timeout=TIMEOUT)
            body = None if method == "GET" else json.dumps(data or {})
            connection.request(method, f"/v1/{path}", body, headers)
            response = connection.getresponse()
            return response.status, json.load(response)


def answers(*command: str) -> bool:
    if not shutil.which(command[0]):
        return False
    return not subprocess.run(command, capture_output=True, check=False).returncode


def missing(kinds: list[str]) -> str:
    """Return the missing requirement of this machine; empty if nothing is missing."""
    if not answers("docker", "info"):
        return "Docker: `docker info` does not answer"
    if "compose" in kinds and not answers("docker", "compose", "version"):
        return "Docker Compose: `docker compose version` does not answer"
    if "kubernetes" not in kinds:
        return ""
    if not answers("kubectl", "get", "nodes", "--request-timeout=10s"):
        return "a Kubernetes cluster: `kubectl get nodes` does not answer (KUBECONFIG says which)"
    if answers("kubectl", "get", "namespace", NAMESPACE):
        return f"a cluster without a namespace {NAMESPACE}: this one's would be deleted"
    return ""


KINDS: dict[str, Callable[[Path], Deployment]] = {"compose": Compose, "kubernetes": Kubernetes}


def main(kinds: list[str]) -> None:
    if lack := missing(kinds):
        sys.exit(f"missing: {lack}")
    build()
    report("the image is built")
    for name in kinds:
        with tempfile.TemporaryDirectory() as folder:
            with remove_at_end(KINDS[name](Path(folder))) as deployment:
                Proof(deployment, Path(folder)).run()
            report(f"{deployment.name}: removed")


if __name__ == "__main__":
    main(sys.argv[1:] or list(KINDS))
