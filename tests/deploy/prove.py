"""Deploys the fleet for real and crawls a small web with it: `python -m tests.deploy.prove`.

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
from pathlib import Path

from tests.synthweb import measure
from tests.synthweb.record import Request, read_requests
from tests.system.assertions import assert_polite

from . import smallweb
from .deployments import NAMESPACE, Compose, Deployment, Kubernetes, build, remove_at_end

TIMEOUT = 900.0
"""Seconds after which a condition counts as never met."""
CHECK_INTERVAL = 2.0
BROKER = "localhost:9092"
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
