"""`gossamer import FILE...`: adds the captures of other crawls to the history of a crawl."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_crawl, open_from
from gossamer.console.import_sources import Source, sources_of
from gossamer.console.importing import Importer
from gossamer.console.output import say
from gossamer.erasures import Erasures
from gossamer.errors import BadSettings
from gossamer.events import Event, Imported, Purpose
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Message
from gossamer.log.blobs import refer
from gossamer.log.codec import encode
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import accept_types
from gossamer.settings import Settings, load_settings
from gossamer.store import Store

BATCH_BYTES = 4 << 20
"""Bytes of messages that are appended at once."""
LEFT_OUT = 3
"""The exit status if all records can be used, and some responses are not documents."""
ARCHIVE = "archive"
"""The service whose list of erasures names every erased URL."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a WARC, ARC or WACZ file, or a JSON file that lists WACZ files, older ones first",
    )
    command.add_argument(
        "--visited",
        action="store_true",
        help="count the captures as visits: their URLs are not new, and are planned for revisits",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Append the captures. Return 1 if some records cannot be used or some files are missing, or
    else LEFT_OUT if some records are not documents."""
    sources = [source for path in options.files for source in sources_of(path)]
    with open_from(options) as crawl:
        if crawl.definition() is None:
            raise BadSettings(f"{crawl.name} has no crawl yet: define one with gossamer seed URL")
        settings = crawl.settings or load_settings(options.config)
        imported = Imported.VISITED if options.visited else Imported.HISTORY
        importer = _make_importer(crawl, crawl.store(), settings, imported)
        _append(crawl, importer, sources, settings.fetcher.inline_body)
        running = crawl.fleet or crawl.is_running()
    found = [source for source in sources if not source.missing]
    _print_result(importer, len(found), crawl.name)
    if importer.counts.keys() & set(Purpose) and not running:
        say("The next gossamer crawl of this folder reads and archives them.")
    if importer.problems or importer.missing:
        return 1
    return LEFT_OUT if importer.left_out else 0


def _make_importer(
    crawl: OpenCrawl, store: Store, settings: Settings, imported: Imported
) -> Importer:
    captures, erasures = store.table(CaptureRow), Erasures(store, ARCHIVE)
    erasures.load()
    return Importer(
        crawl=crawl.id,
        product=settings.fetcher.product,
        accepts=accept_types(settings.fetcher.types),
        imported=imported,
        is_archived=lambda url, at: captures.get((crawl.id, url), at) is not None,
        is_erased=erasures.concerns,
    )


def _append(crawl: OpenCrawl, importer: Importer, sources: list[Source], inline_limit: int) -> None:
    blobs = crawl.blobs() if crawl.blobs else None
    batch, size = list[Message](), 0
    for event in _events_of(importer, sources):
        message = encode(refer(event, blobs, inline_limit) if blobs else event)
        batch.append(message)
        size += len(message.value)
        if size > BATCH_BYTES:
            crawl.log.append(batch)
            batch, size = [], 0
    crawl.log.append(batch)


def _events_of(importer: Importer, sources: list[Source]) -> Iterator[Event]:
    for source in sources:
        yield from importer.events_of(source, clock.now())
    yield from importer.events_of_rest(clock.now())


def _print_result(importer: Importer, files: int, name: str) -> None:
    counts = importer.counts
    purposes = [
        plural(counts[purpose], noun)
        for purpose, noun in (
            (Purpose.PAGE, "page"),
            (Purpose.REQUISITE, "requisite"),
            (Purpose.ROBOTS, "robots.txt"),
        )
        if counts[purpose]
    ]
    say(f"{plural(files, 'WARC file')}: {', '.join(purposes) or 'no capture'} added to {name}.")
    _say_left_out(counts)
    for found, verb in (
        (importer.missing, "Missing"),
        (importer.left_out, "Left out"),
        (importer.skipped, "Skipped"),
        (importer.doubts, "Doubtful"),
    ):
        for kind, number in found.most_common():
            say(f"{verb}: {kind}: {number}, such as {importer.examples[kind]}.")
    for problem in importer.problems:
        say(problem)
    if rest := counts["problem"] - len(importer.problems):
        say(f"… and {rest} more.")


def _say_left_out(counts: Counter[str]) -> None:
    for reason, text in (
        ("archived", "that the crawl has already"),
        ("erased", "of URLs that were erased with gossamer forget"),
        ("problem", "that cannot be used"),
    ):
        if counts[reason]:
            say(f"{plural(counts[reason], 'capture')} {text}.")
