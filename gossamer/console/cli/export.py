"""`gossamer export --wacz FILE`: captures, their index and the list of pages in one WACZ file."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_crawl, open_from, parse_time
from gossamer.console.cli.pages import iterate_records
from gossamer.console.output import say
from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.inspection.archive.selection import Filter, Selection
from gossamer.inspection.archive.wacz import Wacz, read_signing_key
from gossamer.inspection.archive.warcs import list_warcs
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import decode
from gossamer.settings import load_settings


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument("--wacz", required=True, metavar="FILE", help="the file to write")
    command.add_argument(
        "--where",
        default="",
        metavar="EXPR",
        help='only captures that match, such as \'host("example.org") and type("text/*")\'',
    )
    command.add_argument(
        "--since",
        type=parse_time,
        default=0.0,
        metavar="TIME",
        help="only captures since then, such as 2026-11-22 or 2026-11-22T08:00 in UTC",
    )
    command.add_argument("--title", metavar="TEXT", help="title of the archive in the WACZ file")
    command.add_argument(
        "--description", default="", metavar="TEXT", help="description of the archive, as text"
    )


def run(options: argparse.Namespace) -> int:
    """Write the file."""
    wanted, path = Filter(options.where, options.since), Path(options.wacz)
    wanted.check()
    partial = path.with_name(path.name + ".partial")
    with open_from(options) as crawl:
        key_file = (crawl.settings or load_settings(options.config)).archive.signing_key
        key = read_signing_key(key_file) if key_file else None
        warcs = list_warcs(crawl)
        left_out = warcs.leave_out_zstd()
        selection = None if wanted.is_empty else Selection(wanted)
        try:
            wacz = Wacz(partial, clock.now())
        except OSError as error:
            raise BadSettings(f"--wacz {path} cannot be written: {error}") from error
        try:
            wacz.add_warcs(warcs, selection)
            wacz.add_index()
            wacz.add_pages(_pages(crawl))
            title = options.title or f"Archive of {crawl.name}"
            wacz.close(title, key, options.description)
            partial.replace(path)
        except OSError as error:
            raise BadSettings(f"--wacz {path} cannot be written: {error}") from error
        finally:
            wacz.discard()
            partial.unlink(missing_ok=True)
    captures, pages = plural(wacz.captures, "capture"), plural(wacz.pages, "page")
    say(f"{captures} and {pages} in {plural(wacz.files, 'WARC file')} written to {path}.")
    if wacz.damaged:
        damaged = plural(len(wacz.damaged), "damaged file")
        say(f"{damaged}: captures behind the damage are not in the index.")
    if left_out:
        say(f"{plural(left_out, 'WARC file')} with zstd left out: readers of WACZ files need gzip.")
    if warcs.absent:
        say(f"{plural(len(warcs.absent), 'open file')} on other machines: not exported yet.")
    return 0


def _pages(crawl: OpenCrawl) -> Iterator[Page]:
    for record in iterate_records(crawl, follow=False):
        page = decode(record)
        if isinstance(page, Page):
            yield page
