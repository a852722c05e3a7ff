"""Deploys the fleet for real and crawls a small web with it: `python -m tests.deploy.prove`.

With Docker Compose, then on Kubernetes with the local overlay; or only the one that is named,
`compose` or `kubernetes`. It needs Docker, and a cluster that kubectl speaks to. Two variables tell
what is special about a machine: GOSSAMER_BUILD_OPTIONS is added to `docker build`, and
GOSSAMER_LOAD_IMAGE is a command that hands the images named after it to the cluster's nodes.
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
from tests.system.judge import assert_polite

from . import smallweb
from .deployments import NAMESPACE, Compose, Deployment, Kubernetes, build, cleaned_up

PATIENCE = 900.0
"""Seconds after which something will never come."""
LOOK = 2.0
BROKER = "localhost:9092"
_began = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - _began:6.0f} s  {text}", flush=True)


class Proof:
    """One fleet's crawl of the small web, from its start to the comparison with the truth."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self._deployment, self._record = deployment, folder / "requests.jsonl"
        self._truth, self._atlas = smallweb.truth(), smallweb.atlas()

    def run(self) -> None:
        began = time.monotonic()
        self._deployment.start()
        say(f"{self._deployment.name}: all are ready after {time.monotonic() - began:.0f} s")
        self._seed()
        self._until_asked(0.25)
        self._disturb(self._deployment.interrupt)
        self._until_asked(0.5)
        self._scale()
        self._until_asked(0.75)
        self._disturb(self._deployment.replace)
        self._until_asked(1.0)
        self._until(lambda: self._pages() >= self._truth.pages, "all pages are published")
        self._judge()
        self._seed_again()

    def _seed(self) -> None:
        """Half of the seeds as text from Kafka's own producer, half with our command."""
        foreign, own = self._atlas.seeds[::2], self._atlas.seeds[1::2]
        producer = "/opt/kafka/bin/kafka-console-producer.sh"
        lines = "".join(f"{url}\n" for url in foreign)
        where = ("--bootstrap-server", BROKER, "--topic", "seeds")
        self._deployment.ask("kafka", producer, *where, stdin=lines)
        self._deployment.ask("frontier", "gossamer", "seed", *own)
        say(f"seeded: {len(foreign)} seeds with Kafka's producer, {len(own)} with gossamer seed")

    def requests(self) -> list[Request]:
        """What the web has been asked until now."""
        self._record.write_text(self._deployment.ask("web", "cat", smallweb.RECORD))
        return read_requests(self._record)

    def _until_asked(self, part: float) -> None:
        required = self._truth.required
        enough = len(required) * part
        self._until(
            lambda: len(measure.asked(self.requests()) & required) >= enough,
            f"{part:.0%} of {len(required)} URLs are asked for",
        )

    def _until(self, happened: Callable[[], bool], what: str) -> None:
        latest = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < latest, f"never came: {what}"
            time.sleep(LOOK)
        say(what)

    def _disturb(self, how: Callable[[], str]) -> None:
        before, began = len(self.requests()), time.monotonic()
        what = how()
        after = len(self.requests())
        say(f"{what}: {time.monotonic() - began:.0f} s, {after - before} requests meanwhile")

    def _scale(self) -> None:
        self._deployment.scale_fetcher(2)
        self._until(lambda: len(self._members()) == 2, "two fetchers share the partitions")

    def _members(self) -> list[str]:
        """Those of the fetcher's group that have partitions."""
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
        """The same by a client that is not ours."""
        command = "/opt/kafka/bin/kafka-console-consumer.sh"
        where = ("--bootstrap-server", BROKER, "--topic", "pages", "--from-beginning")
        lines = self._deployment.ask("kafka", command, *where, "--timeout-ms", "15000").splitlines()
        return {json.loads(line)["url"] for line in lines if line.startswith("{")}

    def _judge(self) -> None:
        requests, truth = self.requests(), self._truth
        ours, foreign, repeated = self._pages(), self._foreign_pages(), measure.twice(requests)
        shortest = min(gaps.start_to_start for gaps in measure.soonest(requests).values())
        say(f"{len(requests)} requests, {len(truth.required)} URLs had to be asked for, and were")
        say(f"pages: {len(truth.pages)} there are, {len(ours)} say we, {len(foreign)} says Kafka")
        say(f"asked for more than once: {len(repeated)} URLs")
        say(f"at one host: {len(measure.overlaps(requests))} at once, {shortest:.3f} s apart")
        assert ours == foreign == truth.pages, (ours ^ truth.pages, foreign ^ truth.pages)
        assert_polite(requests, truth, smallweb.DELAY)
        url = self._atlas.seeds[0]
        lines = self._deployment.ask("frontier", "gossamer", "why", "--verbose", url).splitlines()
        visited = [line.strip() for line in lines if line.strip().startswith("visited: ")]
        assert visited, lines
        say(f"gossamer why {url}: {visited[-1]}")

    def _seed_again(self) -> None:
        """The state is kept: what was met is not fetched again."""
        before = len(self.requests())
        self._deployment.ask("frontier", "gossamer", "seed", *self._atlas.seeds)
        self._until(lambda: self._lag("dedup", "seeds") == 0, "the same seeds are read again")
        after = len(self.requests())
        say(f"and led to {after - before} requests")
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
    """What this machine lacks."""
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
    say("the image is built")
    for name in kinds:
        with tempfile.TemporaryDirectory() as folder:
            with cleaned_up(KINDS[name](Path(folder))) as deployment:
                Proof(deployment, Path(folder)).run()
            say(f"{deployment.name}: nothing is left of it")


if __name__ == "__main__":
    main(sys.argv[1:] or list(KINDS))
