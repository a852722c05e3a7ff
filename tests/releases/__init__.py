"""The data of each release, which later versions must read: `VERSION.tar.xz` in this folder.

`python -m tests.releases` writes the file of the present version; CONTRIBUTING.md says when. It has

- `killed` and `stopped`: the folder of a crawl that was killed, and of the same crawl after it was
  continued and stopped with Ctrl-C,
- `manifest.json`: version and time, and for each folder the requests that its web had received,
- `web.msgpack`: the answers of that web,
- `fleet.msgpack`: the crawl after its move to a fleet: the rows of each table as Cassandra has
  them, records of each kind of event as Kafka has them, and the URL-seen set with its changelog.
"""

import tarfile
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gossamer.events import Outcome
from gossamer.log import Log, Record, partition_of
from gossamer.services.dedup.replicated import read_valid_changes
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import Web
from tests.synthweb.answers import NOTHING, Answer

KEPT = Path(__file__).resolve().parent
SUFFIX = ".tar.xz"
SECONDS = 0.1
"""Seconds until each answer in virtual time."""
DELAY = 0.5
SETTINGS: dict[str, Any] = {
    "delay": DELAY,
    "batch": 3,
    "url_budget": 30,
    "seed_sites": 0,
    "budget_growth": 0.0,
    "probe_after": 1000,
}
"""Settings of the frontier, of the crawl in all kept data."""


class Request(msgspec.Struct, frozen=True):
    """A request that the web received."""

    url: str
    at: float
    ended_at: float


class Moment(msgspec.Struct, frozen=True):
    """A folder of the crawl, at the time at which its processes had ended."""

    at: float
    requests: list[Request]


class Manifest(msgspec.Struct, frozen=True):
    """The origin of a release's data."""

    version: str
    written_at: float
    wanted: list[str]
    """The URLs that the crawl must request."""
    folders: dict[str, Moment]


class FleetData(msgspec.Struct, frozen=True):
    """The data that the services of a fleet have written."""

    partitions: int
    rows: dict[str, list[dict[str, Any]]]
    """Table → its rows: the values of the columns by name."""
    records: list[Record]
    changelog: list[Record]
    """All records of `urls.seen`."""
    seen: set[tuple[str, str, str]]
    """Crawl, site and fingerprint of each URL of the URL-seen set."""


class Release:
    """The data of a release, unpacked into *folder*."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)

    def answers(self) -> dict[str, Answer]:
        """Return the answers of the web by URL."""
        return msgspec.msgpack.decode(
            (self.folder / "web.msgpack").read_bytes(), type=dict[str, Answer]
        )

    def fleet(self) -> FleetData:
        return msgspec.msgpack.decode((self.folder / "fleet.msgpack").read_bytes(), type=FleetData)


def answer_from(answers: dict[str, Answer]) -> Web:
    """Return the web with these *answers* for a crawl in virtual time. Other hosts are unknown."""
    hosts = {urlsplit(url).netloc for url in answers}

    def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
        if urlsplit(url).netloc not in hosts:
            return SECONDS, Failure(outcome=Outcome.DNS_FAILURE, reason="unknown host")
        given = answers.get(url, NOTHING)
        headers = tuple(given.headers.items())
        return SECONDS, Reply(
            status=given.status, headers=headers, body=given.body, started_at=now, took=SECONDS
        )

    return answer


def seen_in(log: Log) -> set[tuple[str, str, str]]:
    """Return the URL-seen set as owners of the partitions read its changelog."""
    found = set[tuple[str, str, str]]()
    for changes in read_valid_changes(log, log.partitions):
        for number, change in changes:
            if number == partition_of(change.site, log.partitions):
                urls = {(change.crawl, change.site, url) for url in change.urls}
                found = found - urls if change.erased else found | urls
    return found


def file_of(version: str) -> Path:
    """Return the path of the data of *version*."""
    return KEPT / f"{version}{SUFFIX}"


def kept_versions() -> list[str]:
    return sorted(path.name.removesuffix(SUFFIX) for path in KEPT.glob(f"*{SUFFIX}"))


def unpack(version: str, folder: Path) -> Release:
    """Unpack the data of *version* into *folder*."""
    with tarfile.open(file_of(version)) as file:
        file.extractall(folder, filter="data")
    return Release(folder)


def advice(version: str) -> str:
    """Return the sentence about data of *version* that the present code does not read."""
    name = file_of(version).name
    if version == version_of("gossamer"):
        return (
            f"The present code does not read tests/releases/{name} as before. Version {version} is "
            "not released yet: until its tag, python -m tests.releases may write the file again."
        )
    return (
        f"The present code does not read tests/releases/{name} as before. Version {version} is "
        "released: the file stays as it is, and the present code must read it."
    )
