"""`gossamer show URL`: one version of a page as archived, from its record in a WARC file."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gossamer.captures import Capture
from gossamer.console.cli.options import add_crawl, open_from, parse_time
from gossamer.console.output import BOLD, YELLOW, Line, print_json, print_lines, say
from gossamer.errors import BadSettings, GossamerError
from gossamer.inspection.archive.captures import FOREVER
from gossamer.inspection.archive.versions import read_version
from gossamer.inspection.basics.figures import instant, size
from gossamer.terminal import escape_controls

if TYPE_CHECKING:
    from gossamer.inspection.archive.page_texts import PageVersion


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("url", metavar="URL")
    command.add_argument(
        "--at",
        type=parse_time,
        default=FOREVER,
        metavar="TIME",
        help="the version then, such as 2026-11-22T08:00, in UTC (default: the newest)",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="only the main text")
    form.add_argument("--headers", action="store_true", help="only the status and the headers")
    form.add_argument(
        "--raw", action="store_true", help="the HTTP response as archived, unescaped, as bytes"
    )
    form.add_argument("--json", action="store_true", help="everything but the body, as JSON")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Print the version in the chosen form. Raise GossamerError if it cannot be read, or if only
    its text is requested and it has none."""
    if options.raw and sys.stdout.isatty():
        raise BadSettings(
            "--raw writes the bytes of the server unescaped, which could control this terminal: "
            "write them to a file or a pipe, as in gossamer show URL --raw > response.http"
        )
    with open_from(options) as crawl:
        found = read_version(crawl, options.url, options.at)
        if options.raw:
            sys.stdout.buffer.write(found.capture.block)
        elif options.headers:
            print(escape_controls("\n".join(_head(found.capture)), keep="\n"))
        else:
            # Imported here: headers and bytes need no parser.
            from gossamer.inspection.archive.page_texts import describe_version

            _print_version(options, describe_version(crawl, found), found.capture)
    return 0


def _head(capture: Capture) -> Iterator[str]:
    yield f"{capture.status} {capture.reason}".strip()
    yield from (f"{name}: {value}" for name, value in capture.headers)


def _print_version(options: argparse.Namespace, page: "PageVersion", capture: Capture) -> None:
    if options.json:
        print_json(page)
        return
    if options.text and page.fault:
        raise GossamerError(
            f"{page.url} at {instant(page.position.fetched_at)} has no text: {page.fault}"
        )
    if not options.text:
        say(f"{page.url} at {instant(page.position.fetched_at)}", BOLD)
        print_lines(_summary(page, len(capture.body)))
        print()
    print_text(page)


def print_text(page: "PageVersion") -> None:
    """Print the main text of *page*, or why it has none."""
    if page.fault:
        say(f"no text: {page.fault}", YELLOW)
    else:
        print(escape_controls(page.text, keep="\n\t"))


def _summary(page: "PageVersion", received: int) -> Iterator[Line]:
    yield Line("status", f"{page.status} {page.reason}".strip())
    if page.content_type:
        yield Line("type", page.content_type)
    cut = f", incomplete: {page.truncated}" if page.truncated else ""
    yield Line("body", f"{size(received)} as received{cut}, {page.digest}")
    if page.body_at is not None:
        yield Line("", f"equal to {page.body_url} at {instant(page.body_at)}, which has the body")
    place = page.position
    yield Line("record", f"{place.record_type} in {place.file} at byte {place.offset}")
    if page.title:
        yield Line("title", page.title)
    if page.language:
        yield Line("language", page.language)
    if page.text_kind and page.text_kind != "main":
        yield Line("text", f"{page.text_kind}: the page has no main text")
