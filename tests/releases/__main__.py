"""Writes the data of the present version: `python -m tests.releases`. It takes about a minute."""

import json
import logging
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import msgspec
import structlog

from gossamer.events import DEFAULT_CRAWL
from gossamer.events.topics import TOPIC_OF, URLS_SEEN
from gossamer.inspection.basics.folder import Folder
from gossamer.log import Ends, Message, Record, read_topic
from gossamer.procedures.copying import Side
from gossamer.procedures.move import move
from gossamer.procedures.tables import TABLES
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.services.archive.rows import UnpublishedRow
from gossamer.services.dedup.guesses import GuessesRow
from gossamer.services.fetcher.rate_limits import AddressSlot
from gossamer.services.frontier.features.shared import SharedCaptureRow
from gossamer.store import Row, Store
from gossamer.store.cassandra.cql import Columns, all_columns_of
from gossamer.store.claims import WindowRow
from gossamer.web.url import HostKey
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl
from tests.releases import (
    DELAY,
    KEPT,
    SETTINGS,
    FleetData,
    Manifest,
    Moment,
    Release,
    Request,
    answer_from,
    file_of,
    seen_in,
)
from tests.releases.web import BLOCKED, ERASED, NEWS, ReleaseWeb, answers_at, wanted_at
from tests.support.waiting import until
from tests.synthweb import RunningWeb
from tests.system.crawl import GOSSAMER, WebCrawl, run

EXAMPLES = KEPT.parents[1] / "schemas" / "examples"
RECORDS_OF_KIND = 3
"""Maximum number of kept records of each kind of event."""
SEED = "seed_added"
DAY, MAX_BYTES = 86400.0, 300_000


def write(version: str) -> Path:
    """Write the data of *version*, the present one, and return the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        with RunningWeb(ReleaseWeb()) as web:
            moments = dict(_folders(web, Path(name), folder))
            manifest = Manifest(version, time.time(), wanted_at(web.port), moments)
            answers = answers_at(web.port)
        (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
        (folder / "web.msgpack").write_bytes(msgspec.msgpack.encode(answers))
        fleet = _move_and_run(Release(folder), Path(name) / "moved")
        (folder / "fleet.msgpack").write_bytes(msgspec.msgpack.encode(fleet))
        with tarfile.open(file_of(version), "w:xz", preset=9) as file:
            for path in sorted(folder.iterdir()):
                file.add(path, path.name, filter=_anonymous)
    return file_of(version)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _folders(web: RunningWeb[ReleaseWeb], work: Path, target: Path) -> Iterator[tuple[str, Moment]]:
    """Run and kill a crawl. Yield each folder that was copied to *target*, with its requests."""
    config = work / "gossamer.toml"
    frontier = "\n".join(f"{name} = {value}" for name, value in SETTINGS.items())
    config.write_text(f'[frontier]\n{frontier}\n[archive]\nrequisites = "all"\n')
    crawl = WebCrawl(web, work / "crawl", DELAY, config=config)

    def run_until(count: int, kill: bool = False, seeds: list[str] | None = None) -> None:
        options = ("--crawl", DEFAULT_CRAWL, "--revisit", "fixed:1d")
        with crawl.start(*options, seeds=seeds) as started:
            until(lambda: len(web.requests()) >= count or not started.running, "requests")
            assert started.running, started.wait()
            if kill:
                started.kill(group=True)
            else:
                started.interrupt()
                assert started.wait().code == 130
            until(started.is_gone, "the end of the processes")

    def copy(name: str) -> tuple[str, Moment]:
        at = time.time()
        shutil.copytree(crawl.data, target / name, ignore=shutil.ignore_patterns("gossamer.log"))
        with closing(sqlite3.connect(target / name / "gossamer.db")) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # The file would have 9 MB more.
        return name, Moment(at, [Request(one.url, one.at, one.ended) for one in web.requests()])

    run_until(15)
    news = work / "news.toml"
    news.write_text(
        f'seeds = ["http://{NEWS}:{web.port}/"]\nscope = "host"\n[revisit]\npolicy = "fixed:1d"\n'
    )
    for command in (
        ["crawls", "apply", str(news)],
        ["block", BLOCKED, "--reason", "they asked"],
        ["forget", ERASED, "--yes"],
        ["site", "three.example", "--delay", "0.6"],
    ):
        done = run([GOSSAMER, *command, "--data", str(crawl.data)])
        assert done.code == 0, done
    run_until(40, kill=True, seeds=[])
    yield copy("killed")
    run_until(56, seeds=[])
    yield copy("stopped")


def _move_and_run(release: Release, work: Path) -> FleetData:
    """Move the stopped crawl to a fleet in memory, run that for a while, and return its data."""
    shutil.copytree(release.folder / "stopped", work)
    moment = release.manifest.folders["stopped"]
    crawl = VirtualCrawl(
        work / "warc", answer_from(release.answers()), Fate(0), partitions=4, keeps=True, **SETTINGS
    )
    crawl.now = moment.at
    written = list[Message]()
    append = crawl.log.append

    def append_and_note(messages: Iterable[Message]) -> Ends:
        noted = [*messages]
        written.extend(noted)
        return append(noted)

    crawl.log.append = append_and_note  # type: ignore[method-assign]
    partitions = crawl.log.partitions
    fleet = Side("the fleet", crawl.log, crawl._store(), False, partitions)
    with closing((opened := Folder(work).open()).database):
        source = Side("the folder", opened.log, opened.store, True, opened.log.partitions)
        for line in move(source, fleet, crawl.now):
            print(line)
    crawl.crash()
    crawl.run(until=crawl.now + DAY)  # With rows about a day that is over.
    store = crawl._store()
    return FleetData(
        partitions,
        {kind.table: [*_rows(kind, store)] for kind in TABLES},
        [
            Record(one.topic, 0, 0, one.key, one.value, one.headers)
            for one in (*_some(written), *_examples(written))
        ],
        [*read_topic(crawl.log, URLS_SEEN.name)],
        seen_in(crawl.log),
    )


def _rows(kind: type[Row], store: Store) -> Iterator[dict[str, Any]]:
    """Yield the column values of each row, at least one row."""
    rows = [*store.table(kind).everything()] or [row for row in OTHERS if type(row) is kind]
    assert rows, f"add a row of {kind.__name__} to OTHERS"
    columns = Columns(kind)
    for row in rows:
        yield dict(zip(all_columns_of(kind), columns.values(row), strict=True))


def _tag(message: Message) -> str:
    if not message.value:
        return "tombstone"
    if not message.value.startswith(b"{"):
        return "url"
    return str(json.loads(message.value).get("event", SEED))


def _some(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the first messages of each kind."""
    counts = Counter[tuple[str, str]]()
    for message in messages:
        counts[message.topic, _tag(message)] += 1
        if counts[message.topic, _tag(message)] <= RECORDS_OF_KIND:
            yield message


def _examples(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the documented example of each kind of event without a message."""
    found = {(message.topic, _tag(message)) for message in messages}
    for path in sorted(EXAMPLES.glob("*/*/*")):
        message = Message(path.parts[-3], path.stem, path.read_bytes(), path.stem)
        if (at := (message.topic, _tag(message))) not in found:
            found.add(at)
            yield message
    events = {(topic.name, str(kind.__struct_config__.tag)) for kind, topic in TOPIC_OF.items()}
    assert events <= found, events - found


OTHERS: tuple[Row, ...] = (
    AddressSlot("127.9.0.1", 3, "fetcher-1", 1_700_000_000.5),
    CheckpointRow("frontier", "3", {"visits.ended": 7}, "an-id"),
    GuessesRow(HostKey("http://one.example"), 40),
    SharedCaptureRow(HostKey("http://one.example"), "http://one.example/", "news", 1.5, "a/blob"),
    UnpublishedRow("archive-1/crawl-00001.warc.gz", 1234, b"{}"),
    WindowRow("3", 1_700_000_000_000_000),
)
"""Rows of tables that the crawl has not written."""


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    path = write(version_of("gossamer"))
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    assert size < MAX_BYTES
