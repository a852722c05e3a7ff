"""`gossamer export TARGET`: what a crawl has found, as tables, Markdown, URLs or a WACZ file."""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_crawl, names, open_from, parse_time, positive
from gossamer.console.exports.tables import SUFFIXES
from gossamer.console.exports.targets import STDOUT, open_target
from gossamer.console.output import print_error, say
from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.inspection.archive.selection import Filter, Selection
from gossamer.inspection.archive.wacz import Wacz, read_signing_key
from gossamer.inspection.archive.warcs import list_warcs
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.documents import iterate_records
from gossamer.log.codec import decode
from gossamer.settings import load_settings
from gossamer.web.usage import CATEGORIES

TABLE_OPTIONS = {"since", "columns", "partition_by", "versions", "chunks", "purpose"}
OPTIONS: dict[str, set[str]] = {
    "jsonl": TABLE_OPTIONS,
    "csv": TABLE_OPTIONS,
    "parquet": TABLE_OPTIONS,
    "markdown": {"purpose", "chunks", "title"},
    "urls": {"columns"},
    "wacz": {"since", "title", "description"},
}
"""Format → the options that it has, besides those of every format."""
FORMAT_OF_SUFFIX = {
    **{suffix: form for form, suffix in SUFFIXES.items()},
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".wacz": "wacz",
}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "target",
        metavar="TARGET",
        help="a file, a folder, a URL such as s3://bucket/pages.parquet, or - for standard output",
    )
    command.add_argument(
        "--format",
        choices=OPTIONS,
        help="what is written (default: what the suffix of TARGET says)",
    )
    command.add_argument(
        "--where",
        default="",
        metavar="EXPR",
        help='only what matches, such as \'host("example.org") and type("text/*")\'',
    )
    command.add_argument(
        "--since",
        metavar="NAME",
        help="what is new, changed or gone since the last export with this name; for WACZ, "
        "captures since a time, such as 2026-11-22 or 2026-11-22T08:00 in UTC",
    )
    command.add_argument(
        "--columns", type=names, metavar="LIST", help="these columns only, such as url,title,text"
    )
    command.add_argument(
        "--partition-by", metavar="COLUMN", help="a folder for each value of COLUMN, as in Hive"
    )
    command.add_argument(
        "--versions", action="store_true", help="a row for each archived version of a page"
    )
    command.add_argument(
        "--chunks",
        type=positive,
        metavar="TOKENS",
        help="parts of the Markdown with about TOKENS tokens, cut at headings",
    )
    command.add_argument(
        "--purpose",
        type=names,
        metavar="LIST",
        help=f"leave out pages whose sites disallow one of these uses: of {', '.join(CATEGORIES)}",
    )
    command.add_argument("--title", metavar="TEXT", help="title of the archive or the index")
    command.add_argument(
        "--description", metavar="TEXT", help="description of the archive, as text"
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Write the export, and say what it has."""
    form = _format_of(options)
    export = _check(options, form)
    # The result on standard output is data alone.
    tell = partial(print_error, "gossamer export") if options.target == STDOUT else say
    with open_from(options) as crawl:
        for sentence in export(crawl, options):
            tell(sentence)
    return 0


def _format_of(options: argparse.Namespace) -> str:
    if options.format:
        return str(options.format)
    if form := FORMAT_OF_SUFFIX.get(Path(options.target).suffix.lower()):
        return form
    raise BadSettings(f"name the format with --format: {', '.join(OPTIONS)}")


def _check(
    options: argparse.Namespace, form: str
) -> Callable[[OpenCrawl, argparse.Namespace], Iterator[str]]:
    """Return the function that writes *form*. Raise BadSettings for options that do not fit."""
    given = {name for names in OPTIONS.values() for name in names if getattr(options, name)}
    if wrong := sorted(given - OPTIONS[form]):
        option = wrong[0].replace("_", "-")
        having = [one for one, found in OPTIONS.items() if wrong[0] in found]
        raise BadSettings(f"--{option} is not for --format {form}, but for {', '.join(having)}")
    if wrong := [one for one in options.purpose or () if one not in CATEGORIES]:
        raise BadSettings(f"--purpose {wrong[0]}: a use is one of {', '.join(CATEGORIES)}")
    if options.versions and (taken := sorted(given & {"since", "chunks", "purpose"})):
        hint = ": gossamer usage says what a site allowed at a time" * (taken[0] == "purpose")
        raise BadSettings(f"--versions cannot be combined with --{taken[0]}{hint}")
    return _export_wacz if form == "wacz" else _export_documents


def _export_documents(crawl: OpenCrawl, options: argparse.Namespace) -> Iterator[str]:
    # It imports the parser, which takes longer than the help.
    from gossamer.console.exports import documents as exports

    form, chunks = _format_of(options), options.chunks or 0
    is_markdown = form == "markdown"
    is_one_file = options.target == STDOUT or Path(options.target).suffix == ".md"
    if is_markdown and is_one_file and chunks:
        raise BadSettings("--chunks with --format markdown writes files: name a folder")
    target = open_target(
        options.target, bool(options.partition_by) or (is_markdown and not is_one_file)
    )
    if form == "parquet" and options.target == STDOUT and sys.stdout.isatty():
        raise BadSettings("--format parquet is binary: name a file, or use a pipe")
    if options.since and _is_time(options.since):
        raise BadSettings(
            f"--since {options.since} is a time: name the cursor of this export, such as my-index"
        )
    wanted = exports.ExportOptions(
        target,
        form,
        options.where,
        options.purpose or (),
        options.columns or (),
        options.since or "",
        options.partition_by or "",
        chunks,
        options.title or f"Pages of {crawl.name}",
    )
    if is_markdown:
        return exports.export_markdown(crawl, wanted)
    if form == "urls":
        suffix = Path(options.target).suffix
        table = FORMAT_OF_SUFFIX.get(suffix, "jsonl")
        return exports.export_urls(
            crawl, replace(wanted, form=table if table in SUFFIXES else "jsonl")
        )
    if options.versions:
        return exports.export_versions(crawl, wanted)
    return exports.export_documents(crawl, wanted)


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except argparse.ArgumentTypeError:
        return False
    return True


def _export_wacz(crawl: OpenCrawl, options: argparse.Namespace) -> Iterator[str]:
    """Write captures, their index and the list of pages. Yield the sentences of the result."""
    if options.target == STDOUT or "://" in options.target:
        raise BadSettings("--format wacz writes a local file: name it")
    try:
        since = parse_time(options.since) if options.since else 0.0
    except argparse.ArgumentTypeError as error:
        raise BadSettings(f"--since: {error}") from error
    wanted, path = Filter(options.where, since), Path(options.target)
    wanted.check()
    unfinished = path.with_name(path.name + ".partial")
    key_file = (crawl.settings or load_settings(options.config)).archive.signing_key
    key = read_signing_key(key_file) if key_file else None
    warcs = list_warcs(crawl)
    left_out = warcs.leave_out_zstd()
    selection = None if wanted.is_empty else Selection(wanted)
    try:
        wacz = Wacz(unfinished, clock.now())
        try:
            wacz.add_warcs(warcs, selection)
            wacz.add_index()
            wacz.add_pages(_pages(crawl))
            title = options.title or f"Archive of {crawl.name}"
            wacz.close(title, key, options.description or "")
            unfinished.replace(path)
        finally:
            wacz.discard()
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise BadSettings(f"{path} cannot be written: {error}") from error
    captures, pages = plural(wacz.captures, "capture"), plural(wacz.pages, "page")
    yield f"{captures} and {pages} in {plural(wacz.files, 'WARC file')} written to {path}."
    if wacz.undecoded:
        coded, names = plural(wacz.undecoded.total(), "capture"), ", ".join(sorted(wacz.undecoded))
        yield (
            f"{coded} in a coding that ReplayWeb.page does not decode ({names}): gossamer replay "
            "shows such pages."
        )
    if wacz.is_searched_in_part:
        yield (
            "ReplayWeb.page searches the first MiB of the compressed list of pages, which is "
            "longer: it finds no words of later pages. --where writes a part of the archive."
        )
    if wacz.damaged:
        damaged = plural(len(wacz.damaged), "damaged file")
        yield f"{damaged}: captures behind the damage are not in the index."
    if left_out:
        files = plural(left_out, "WARC file")
        yield f"{files} with zstd left out: readers of WACZ files need gzip."
    if warcs.absent:
        yield f"{plural(len(warcs.absent), 'open file')} on other machines: not exported yet."


def _pages(crawl: OpenCrawl) -> Iterator[Page]:
    for record in iterate_records(crawl, follow=False):
        page = decode(record)
        if isinstance(page, Page):
            yield page
