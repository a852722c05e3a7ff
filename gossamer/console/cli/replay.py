"""`gossamer replay`: the archived pages in a browser, served by pywb at 127.0.0.1.

pywb runs in a process of its own, and reads the WARC files where they are. It gets the merged index
and a list of paths in a temporary folder. While a crawl runs, both are renewed.

Archived pages are hostile: their scripts run in the origin of this port. So nothing else is served
there, and no cookie or page of another port belongs to that origin.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gossamer import clock
from gossamer.console.cli.options import add_place, add_port, open_from
from gossamer.console.listening import listen
from gossamer.console.output import say
from gossamer.console.replay_page import documents_of, render
from gossamer.errors import GossamerError
from gossamer.events import Page
from gossamer.extras import require_extra
from gossamer.inspection.archive.warcs import WarcFiles, list_warcs
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.documents import iterate_records
from gossamer.log.codec import decode
from gossamer.services.archive.index import is_replayed

DEFAULT_PORT = 8090
COLLECTION = "archive"
REFRESH_SECONDS = 60.0
"""Seconds between two renewals of the index."""
POLL_SECONDS = 0.1
INDEX, PATHS, CONFIG, LOG = "index.cdxj", "paths.txt", "config.yaml", "pywb.log"
TEMPLATES, FIRST_PAGE = "templates", "search.html"
"""Where pywb looks for the page of a collection."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_port(command, DEFAULT_PORT)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Serve until the process is interrupted."""
    require_extra("replay")
    listen(options.port).close()  # A port in use is reported here, and not by pywb.
    with tempfile.TemporaryDirectory(prefix="gossamer-replay-") as name:
        folder = Path(name)
        renew = _make_renewal(options, folder)
        captures = renew()
        write_config(folder)
        with _serve(options.port, folder) as server:
            say(f"Serving http://127.0.0.1:{options.port}/{COLLECTION}/ ({captures} captures)")
            say("The scripts of archived pages run there. Ctrl-C stops.")
            while True:
                with suppress(subprocess.TimeoutExpired):
                    server.wait(REFRESH_SECONDS)
                    raise _explain_end(folder)
                renew()


def _make_renewal(options: argparse.Namespace, folder: Path) -> Callable[[], int]:
    last: list[object] = []
    captures = reported = 0

    def renew() -> int:
        nonlocal last, captures, reported
        with open_from(options) as crawl:
            warcs = list_warcs(crawl)
            left_out = warcs.leave_out_zstd()
            if warcs.files != last:
                captures = write_collection(warcs, folder)
                write_first_page(folder, partial(_titles, crawl))
                last = [*warcs.files]
            if left_out != reported:
                say(f"{plural(left_out, 'WARC file')} with zstd left out: pywb reads gzip only.")
                reported = left_out
        return captures

    return renew


@contextmanager
def _serve(number: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run pywb in the block, which begins when pywb accepts connections."""
    command = [sys.executable, "-m", "gossamer.console.replay_server"]
    command += ["--bind", "127.0.0.1", "--port", str(number)]
    with (folder / LOG).open("wb") as log:
        # In a session of its own: Ctrl-C reaches this process alone, which ends pywb.
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        while not _accepts(number):
            if server.poll() is not None:
                raise _explain_end(folder)
            clock.pause(POLL_SECONDS)
        yield server
    finally:
        server.terminate()
        server.wait()


def _accepts(number: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", number)).close()
    except ConnectionRefusedError:
        return False
    return True


def _explain_end(folder: Path) -> GossamerError:
    lines = (folder / LOG).read_text("utf-8", "replace").splitlines()
    return GossamerError(f"pywb has ended: {lines[-1] if lines else 'without a message'}")


def write_config(folder: Path) -> None:
    """Write pywb's configuration, which has one collection and serves no live pages."""
    collection = {"index_paths": str(folder / INDEX), "archive_paths": [str(folder / PATHS)]}
    config = {"enable_auto_colls": False, "collections": {COLLECTION: collection}}
    (folder / CONFIG).write_text(json.dumps(config))  # JSON is YAML.


def write_collection(warcs: WarcFiles, folder: Path) -> int:
    """Write the index and the paths of *warcs* into *folder*; return the number of captures."""
    lines = [
        "\t".join((file.basename, *map(_path_of, warcs.uris(file)))) + "\n" for file in warcs.files
    ]
    _replace(folder / PATHS, sorted(lines))
    return _replace(folder / INDEX, (line for line in warcs.merged_lines() if is_replayed(line)))


def write_first_page(folder: Path, titles: Callable[[set[str]], Mapping[str, str]]) -> None:
    """Write the page of the collection from the index in *folder*."""
    template = folder / TEMPLATES / FIRST_PAGE
    template.parent.mkdir(exist_ok=True)
    with (folder / INDEX).open(encoding="utf-8") as lines:
        _replace(template, render(documents_of(lines), titles, COLLECTION))


def _titles(crawl: OpenCrawl, urls: set[str]) -> dict[str, str]:
    found = dict[str, str]()
    for record in iterate_records(crawl, follow=False) if urls else ():
        page = decode(record)
        if isinstance(page, Page) and page.url in urls and page.title:
            found[page.url] = page.title
    return found


def _path_of(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _replace(path: Path, lines: Iterable[str]) -> int:
    unfinished, count = path.with_name(path.name + ".partial"), 0
    with unfinished.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line)
            count += 1
    os.replace(unfinished, path)
    return count
