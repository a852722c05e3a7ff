"""Third-party test data: where its folder is, whether a suite is complete, and how to fetch it.

    scripts/suites                   (runs python -m tests.suites)

`tests/suites.toml` lists the files. Their folder is the one in the environment variable
GOSSAMER_SUITES, else `../shared/suites` beside the repository if that exists, else `.suites`. The
first two are copies of somebody else: they are verified and not changed. A small suite may be
committed; it is only verified, too.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import sys
import tarfile
import tomllib
import urllib.request
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".toml")
KEPT_COPY = ROOT.parent / "shared" / "suites"
FETCHED = ROOT / ".suites"
ATTEMPTS = 3
DOWNLOAD_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class Suite:
    """Some files of one upstream repository."""

    name: str
    content: str
    repository: str
    commit: str
    license: str
    folder: str = ""
    """The folder of the repository with the files, if they are committed; "" if they are not."""
    not_fetched: str = ""
    """The reason why the suite cannot be fetched, only copied; "" if it can be fetched."""
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Our name → path upstream and SHA-256."""
    derived: dict[str, str] = field(default_factory=dict)
    """Our name → SHA-256 of the uncompressed content."""


class SuiteError(Exception):
    """A file could not be fetched, or is not the listed one."""


def load_suites(file: Path = LIST) -> tuple[str, dict[str, Suite]]:
    """Return the template of upstream's archive URLs, and the suites by name."""
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    archives = listed.pop("archives")
    return archives, {name: Suite(name, **fields) for name, fields in listed.items()}


def data_folder() -> Path:
    """Return the folder of the data, which need not exist."""
    if named := os.environ.get("GOSSAMER_SUITES"):
        return Path(named)
    return KEPT_COPY if KEPT_COPY.is_dir() else FETCHED


def folder_of(name: str) -> Path:
    """Return the folder of the suite *name*: in the repository, or the data folder."""
    suite = load_suites()[1][name]
    return ROOT / suite.folder if suite.folder else data_folder()


@cache
def is_complete(name: str) -> bool:
    """Return whether every file of the suite *name* that tests read is in its folder."""
    suite = load_suites()[1][name]
    return all((folder_of(name) / file).is_file() for file in suite.derived or suite.files)


def find_defects(suite: Suite, folder: Path) -> list[str]:
    """Return a line for each file that tests read and that is missing or different."""
    wanted = suite.derived or {name: digest for name, (_, digest) in suite.files.items()}
    return [line for name in wanted if (line := _defect(suite, folder, name, wanted[name]))]


def _defect(suite: Suite, folder: Path, name: str, digest: str) -> str:
    if not (folder / name).is_file():
        return f"{name} is missing"
    stored = (folder / name).read_bytes()
    upstream, _ = suite.files.get(name, ("", ""))
    try:
        content = gzip.decompress(stored) if _is_compressed_here(name, upstream) else stored
    except (OSError, EOFError):
        content = stored
    if (found := _digest(content)) != digest:
        return f"{name} has SHA-256 {found}, not {digest}"
    return ""


def _is_compressed_here(name: str, upstream: str) -> bool:
    return name.endswith(".gz") and not upstream.endswith(".gz")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch_suite(suite: Suite, template: str, folder: Path) -> None:
    """Fetch the missing files of *suite* into *folder* and derive the rest; raise SuiteError
    on failure."""
    missing = {path: name for name, (path, digest) in suite.files.items()
               if _defect(suite, folder, name, digest)}  # fmt: skip
    if missing:
        url = template.format(repository=suite.repository, commit=suite.commit)
        fetched = _fetch_files(url, missing.keys())
        for path, name in missing.items():
            _store_verified(suite, folder, name, fetched.get(path))
    if suite.name == "robots":
        files = [folder / name for name in suite.files]
        (derived,) = suite.derived
        _store(folder / derived, gzip.compress(convert_robots_cases(files), mtime=0))
    if defects := find_defects(suite, folder):
        raise SuiteError("; ".join(defects))


def _fetch_files(url: str, paths: Collection[str]) -> dict[str, bytes]:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _read_archive(url, paths)
        except (OSError, EOFError, HTTPException, tarfile.TarError, zlib.error) as error:
            if attempt == ATTEMPTS:
                raise SuiteError(f"{url}: {error}") from error
    raise AssertionError


def _read_archive(url: str, paths: Collection[str]) -> dict[str, bytes]:
    """Return the content of the files *paths* in the archive of a commit, without reading
    further."""
    found: dict[str, bytes] = {}
    with (
        urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT) as response,
        tarfile.open(fileobj=response, mode="r|gz") as archive,
    ):
        for member in archive:
            # All files are in one folder, named after the repository and the commit.
            path = member.name.partition("/")[2]
            if path in paths and (content := archive.extractfile(member)):
                found[path] = content.read()
            if len(found) == len(paths):
                break
    return found


def _store_verified(suite: Suite, folder: Path, name: str, content: bytes | None) -> None:
    path, digest = suite.files[name]
    source = f"{path} in {suite.repository} at {suite.commit}"
    if content is None:
        raise SuiteError(f"{source} is missing")
    if (found := _digest(content)) != digest:
        raise SuiteError(f"{source} has SHA-256 {found}, not {digest}")
    compressed = _is_compressed_here(name, path)
    _store(folder / name, gzip.compress(content, mtime=0) if compressed else content)


def _store(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_bytes(content)
    part.replace(file)


FIELD = re.compile(rb'(\w+):\s*((?:"(?:[^"\\]|\\.)*"\s*)+|[A-Z_]+)')
STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def convert_robots_cases(files: list[Path]) -> bytes:
    """Convert the expectations in Google's *files* from protobuf's text format to lines of JSON.

    A line has `file`, `robots` (its bytes as Latin-1), `url`, `agent`, `allowed` and `why`.
    """
    cases = [case for file in files for case in _robots_cases(file)]
    return "".join(f"{json.dumps(case)}\n" for case in cases).encode()


TEXTS = {b"testurl": "url", b"useragent": "agent", b"additional_explanation": "why"}


def _robots_cases(file: Path) -> list[dict[str, object]]:
    robots = ""
    cases: list[dict[str, object]] = []
    for name, value in FIELD.findall(file.read_bytes()):
        if name == b"robotstxt":
            robots = _unescape(value).decode("latin-1")
        elif name == b"expected_outcome":
            cases[-1]["allowed"] = value == b"ALLOWED"
        elif name in TEXTS:
            if name == b"testurl":
                empty = {"url": "", "agent": "", "allowed": False, "why": ""}
                cases.append({"file": file.name, "robots": robots, **empty})
            cases[-1][TEXTS[name]] = _unescape(value).decode("utf-8", "replace")
    return cases


def _unescape(strings: bytes) -> bytes:
    """Return the bytes of adjacent quoted *strings* with C escapes."""
    joined = b"".join(STRING.findall(strings))
    return joined.decode("unicode_escape").encode("latin-1")


def main(arguments: list[str] | None = None) -> int:
    """Fetch and verify the data, or verify a copy; return the exit code."""
    parser = argparse.ArgumentParser(description="Fetch and verify third-party test data.")
    parser.add_argument("--list", type=Path, default=LIST, help="default: tests/suites.toml")
    parser.add_argument("--folder", type=Path, help="fetch into this folder")
    given = parser.parse_args(arguments)
    template, suites = load_suites(given.list)
    folder = given.folder or data_folder()
    fetches = given.folder is not None or folder == FETCHED
    print(f"{'Fetching into' if fetches else 'Verifying the copy in'} {folder}")
    failed = False
    for suite in suites.values():
        try:
            print(f"{suite.name}: {_provide(suite, template, folder, fetches)}", flush=True)
        except SuiteError as error:
            print(f"{suite.name}: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _provide(suite: Suite, template: str, folder: Path, fetches: bool) -> str:
    if suite.folder:
        folder, fetches = ROOT / suite.folder, False
    if suite.not_fetched and not any((folder / name).exists() for name in suite.derived):
        return f"not fetched: {suite.not_fetched}"
    if fetches and not suite.not_fetched:
        fetch_suite(suite, template, folder)
    elif defects := find_defects(suite, folder):
        raise SuiteError("; ".join(defects))
    count = len(suite.derived or suite.files)
    return f"{count} {'file' if count == 1 else 'files'} verified"


if __name__ == "__main__":
    sys.exit(main())
