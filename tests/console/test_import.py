"""Captures of other crawls, from files that warcio writes, become history of a crawl."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipExtFile, ZipFile

import pytest
from backports import zstd
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.console.cli.main import main
from gossamer.console.import_sources import NOT_THERE, ON_SERVER, sources_of
from gossamer.console.importing import Importer
from gossamer.errors import BadSettings
from gossamer.events import (
    Imported,
    Page,
    PageFetched,
    Purpose,
    SeedAdded,
    UrlsDiscovered,
)
from gossamer.events.topics import PAGES, PAGES_ARCHIVED, PAGES_FETCHED, URLS_DISCOVERED
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.urls.visits import read_history
from gossamer.log.blobs import load
from gossamer.log.codec import decode, encode
from gossamer.services.fetcher.outcome import Failure, Reply, accept_types
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.settings.sections import DOCUMENTS
from gossamer.web.validators import WEB_BEGAN_AT
from tests.archive.crawled import archived_folder
from tests.archive.harness import page
from tests.console.gossamer import Gossamer
from tests.flow.virtual import START, VirtualCrawl
from tests.support.transcripts import Transcript

HOME, OLD, IMAGE = "http://a.test/", "http://a.test/old", "http://a.test/logo.png"
TEXT = b"<title>Old</title><p>A text about harbours, ships and the sea."
DAY = 86400.0
DATES = [f"2023-11-0{day}T00:00:00.5Z" for day in range(1, 10)]
FIRST_DAY = 1698796800.5


class Record(NamedTuple):
    """A record to write."""

    url: str
    body: bytes = TEXT
    day: int = 0
    status: str = "200 OK"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
    kind: str = "response"
    warc: tuple[tuple[str, str], ...] = ()


def write(*records: Record, packed: bool = True) -> bytes:
    """Return a WARC file, as warcio writes it."""
    out = BytesIO()
    writer = WARCWriter(out, gzip=packed, warc_version="1.1")
    writer.write_record(writer.create_warcinfo_record("old.warc", {"software": "another crawler"}))
    for one in records:
        http = StatusAndHeaders(one.status, list(one.headers), protocol="HTTP/1.0")
        made = writer.create_warc_record(
            one.url,
            one.kind,
            payload=BytesIO(one.body),
            length=len(one.body),
            http_headers=http,
            warc_headers_dict={"WARC-Date": DATES[one.day], **dict(one.warc)},
        )
        writer.write_record(made)
    return out.getvalue()


def make_importer(**changes: Any) -> Importer:
    fields = {
        "crawl": "default",
        "product": "gossamer",
        "accepts": accept_types(DOCUMENTS),
        "imported": Imported.HISTORY,
        "is_archived": lambda url, at: False,
        "is_erased": lambda url: False,
    }
    return Importer(**{**fields, **changes})


def read(importer: Importer, *paths: Path) -> list[PageFetched]:
    sources = [source for path in paths for source in sources_of(path)]
    events = [event for source in sources for event in importer.events_of(source, START)]
    events += importer.events_of_rest(START)
    return [event for event in events if isinstance(event, PageFetched)]


class Found:
    """The pages, problems and counts of an import of files."""

    def __init__(self, *paths: Path) -> None:
        importer = make_importer()
        self.pages = read(importer, *paths)
        self.urls = [page.visit.url for page in self.pages]
        self.bodies = [page.body for page in self.pages]
        self.problems, self.missing, self.examples = (
            importer.problems, importer.missing, importer.examples,
        )  # fmt: skip
        self.doubts, self.left_out, self.skipped = (
            importer.doubts, dict(importer.left_out), importer.skipped,
        )  # fmt: skip


def imported(folder: Path, data: bytes, name: str = "old.warc.gz") -> list[PageFetched]:
    (folder / name).write_bytes(data)
    return read(make_importer(), folder / name)


def problem_of(folder: Path, data: bytes, name: str = "old.warc.gz") -> str:
    (folder / name).write_bytes(data)
    importer = make_importer()
    read(importer, folder / name)
    (problem,) = importer.problems
    return problem


def test_response_becomes_a_page_at_its_own_time(tmp_path: Path) -> None:
    warc = (("WARC-IP-Address", "192.0.2.7"), ("WARC-Protocol", "tls/1.3"))
    tags = (("Content-Type", "text/html"), ("X-Robots-Tag", "noindex"))
    record = Record("HTTP://A.test:80/old#top", day=1, headers=tags, warc=warc)
    (page,) = imported(tmp_path, write(record))
    assert (page.visit.url, page.site, page.host) == (OLD, "a.test", "http://a.test")
    assert (page.started_at, page.status, page.reason) == (FIRST_DAY + DAY, 200, "OK")
    assert (page.body, page.http_version, page.headers) == (TEXT, "1.0", tags)
    assert (page.address, page.tls_version) == ("192.0.2.7", "tls/1.3")
    assert page.visit.via == "import@old.warc.gz"
    assert page.visit.imported is Imported.HISTORY


def test_kinds_of_responses_have_different_purposes(tmp_path: Path) -> None:
    png = (("Content-Type", "image/png"),)
    found = imported(
        tmp_path,
        write(
            Record(OLD),
            Record("http://a.test/robots.txt", b"User-agent: *\n", headers=()),
            Record(IMAGE, b"\x89PNG\r\n", headers=png),
            Record("http://a.test/gone", b"", status="404 Not Found", headers=png),
        ),
    )
    purposes = [Purpose.PAGE, Purpose.ROBOTS, Purpose.REQUISITE, Purpose.PAGE]
    assert [page.visit.purpose for page in found] == purposes


def zip_of(**members: bytes) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w") as packed:
        packed.writestr("datapackage.json", json.dumps({}))
        for name, data in members.items():
            packed.writestr(f"archive/{name}.warc.gz", data)
    return out.getvalue()


def with_dictionary(data: bytes) -> bytes:
    """Return the records of a plain file in frames with a dictionary, behind the dictionary."""
    samples = [b"WARC/1.1\r\nWARC-Type: response\r\n" + b"%d" % n * 40 for n in range(900)]
    trained = zstd.train_dict(samples, 4096)
    records = [b"WARC/1.1" + one for one in data.split(b"WARC/1.1")[1:]]
    frames = [zstd.compress(one, zstd_dict=trained) for one in records]
    head = b"\x5d\x2a\x4d\x18" + len(trained.dict_content).to_bytes(4, "little")
    return head + trained.dict_content + b"".join(frames)


def frames_of(data: bytes) -> bytes:
    return b"".join(zstd.compress(b"WARC/1.1" + one) for one in data.split(b"WARC/1.1")[1:])


CONTAINERS: dict[str, Callable[[Sequence[Record]], bytes]] = {
    "a.warc": lambda records: write(*records, packed=False),
    "a.warc.gz": lambda records: write(*records),
    "a.warc.zst": lambda records: frames_of(write(*records, packed=False)),
    "b.warc.zst": lambda records: with_dictionary(write(*records, packed=False)),
    "a.wacz": lambda records: zip_of(data=write(*records[:1]), more=write(*records[1:])),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_has_the_same_captures(tmp_path: Path, name: str) -> None:
    records = [Record(OLD), Record(OLD, b"<p>" + bytes(range(256)) * 999, day=2), Record(HOME)]
    found = imported(tmp_path, CONTAINERS[name](records), name)
    assert [(one.visit.url, one.body) for one in found] == [(one.url, one.body) for one in records]


def test_body_is_without_its_chunks(tmp_path: Path) -> None:
    chunked = (("Content-Type", "text/html"), ("Transfer-Encoding", "chunked"))
    body = b"5;x=y\r\n<p>ab\r\n1\r\nc\r\n0\r\n\r\n"
    bodies = {body: b"<p>abc", body[:-5]: b"<p>abc", TEXT: TEXT}
    for sent, expected in bodies.items():
        (page,) = imported(tmp_path, write(Record(OLD, sent, headers=chunked)))
        assert page.body == expected


def test_revisit_record_has_the_body_of_an_earlier_file(
    tmp_path: Path, transcript: Transcript
) -> None:
    first = write(Record(OLD))
    (tmp_path / "1.warc.gz").write_bytes(first)
    digest = gzip.decompress(first).split(b"WARC-Payload-Digest: ")[-1].split(b"\r\n")[0].decode()
    again = Record(HOME, b"", 3, kind="revisit", warc=(("WARC-Payload-Digest", digest),))
    (tmp_path / "2.warc.gz").write_bytes(write(again))
    found = Found(tmp_path / "1.warc.gz", tmp_path / "2.warc.gz")
    assert [(one.visit.url, one.body) for one in found.pages] == [(OLD, TEXT), (HOME, TEXT)]
    assert not found.problems
    found = Found(tmp_path / "2.warc.gz")
    assert found.pages == []
    transcript.add("a revisit record without its file", found.problems)


def test_304_is_the_answer_to_a_condition(tmp_path: Path) -> None:
    record = Record(OLD, b"", status="304 Not Modified", headers=(("ETag", '"7"'),), kind="revisit")
    (page,) = imported(tmp_path, write(record))
    assert (page.status, page.visit.conditions) == (304, (("If-None-Match", '"7"'),))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"no archive", "it is not a WARC"),
        (write(Record(OLD))[:-9], "is damaged from byte"),
        (write(Record(OLD), packed=False)[:-9], "is damaged from byte"),
        (write(Record("http://[bad/")), "at byte"),
        (
            write(Record(OLD, b"", status="304 X", headers=(), kind="revisit")),
            "in none of the files",
        ),
        (write(Record(OLD, b"", status="304 X", headers=())), "neither an ETag"),
    ],
)
def test_unusable_records_are_named(tmp_path: Path, data: bytes, problem: str) -> None:
    assert problem in problem_of(tmp_path, data)


def damaged_zip() -> bytes:
    """Return a WACZ file whose deflated member is damaged behind its first record."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as packed:
        records = [Record(OLD, os.urandom(30_000)) for _ in range(5)]
        packed.writestr("archive/a.warc", write(*records, packed=False))
    data = bytearray(out.getvalue())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (zip_of(), "no WARC file"),
        (zip_of(a=b"").replace(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xff"), "cannot be read"),
        (b"PK\3\4", "cannot be read"),
        (b"PK", "it is not a WARC"),
        (b"", "it is empty"),
        (gzip.compress(b""), "it is empty"),
        (gzip.compress(b"text"), "it is not a WARC"),
    ],
    ids=["zip", "damaged zip", "beginning of a zip", "two letters", "empty", "no text", "gzip"],
)
def test_file_of_another_kind_does_not_stop_the_others(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    (tmp_path / "a.wacz").write_bytes(data)
    (tmp_path / "b.warc.gz").write_bytes(write(Record(OLD)))
    found = Found(tmp_path / "a.wacz", tmp_path / "b.warc.gz")
    (page,) = found.pages
    assert page.visit.url == OLD
    assert len(found.problems) == 1 and problem in found.problems[0]


@pytest.mark.parametrize("compression", [ZIP_STORED, ZIP_DEFLATED])
def test_member_with_a_damaged_name_is_read_or_missed(tmp_path: Path, compression: int) -> None:
    """It was skipped without a word: its name in the list was no longer that of a WARC file."""
    with ZipFile(out := BytesIO(), "w", compression) as packed:
        for name, url in (("a", OLD), ("b", HOME)):
            packed.writestr(f"archive/{name}.warc.gz", write(Record(url)))
    data = out.getvalue()
    at = data.rindex(b"archive/a.warc") + len("archive/a.")
    (tmp_path / "a.wacz").write_bytes(data[:at] + b"x" + data[at + 1 :])
    importer = make_importer()
    found = [page.visit.url for page in read(importer, tmp_path / "a.wacz")]
    problems = [problem.partition(" is damaged")[0] for problem in importer.problems]
    is_stored = compression == ZIP_STORED
    assert found == [OLD, HOME][not is_stored :]
    assert problems == ["a.wacz/archive/a.xarc.gz"] * (not is_stored)


def test_damaged_member_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.wacz").write_bytes(damaged_zip())
    (tmp_path / "b.warc.gz").write_bytes(write(Record(HOME)))
    found = Found(tmp_path / "a.wacz", tmp_path / "b.warc.gz")
    assert found.pages[-1].visit.url == HOME
    assert any("a.wacz" in problem for problem in found.problems)


@pytest.mark.parametrize("packing", [ZIP_STORED, ZIP_DEFLATED])
@pytest.mark.parametrize("inner", [ZIP_STORED, ZIP_DEFLATED])
def test_wacz_files_in_a_wacz_file_are_read(tmp_path: Path, packing: int, inner: int) -> None:
    """Browsertrix: a collection is a ZIP file of WACZ files, also beside WARC files."""
    path = tmp_path / "all.wacz"
    parts = [tmp_path / "a.wacz", tmp_path / "b.WACZ"]
    for part, url in zip(parts, (HOME, OLD), strict=True):
        with ZipFile(part, "w", inner) as packed:
            packed.writestr("archive/data.warc.gz", write(Record(url)))
    with ZipFile(path, "w", packing) as packed:
        packed.writestr("datapackage.json", '{"profile": "multi-wacz-package"}')
        packed.writestr("c.warc.gz", write(Record(IMAGE)))
        packed.writestr("d.wacz", b"PK")
        for part in parts:
            packed.write(part, f"crawls/{part.name}")
    found = Found(path)
    assert sorted(found.urls) == [HOME, IMAGE, OLD]
    (problem,) = found.problems
    assert problem.startswith("all.wacz/d.wacz: it cannot be read")


def packed_in(*members: tuple[str, bytes], listed: tuple[str, ...] = ()) -> bytes:
    """Return a WACZ file whose description lists files."""
    found = BytesIO()
    with ZipFile(found, "w") as packed:
        for name, data in members:
            packed.writestr(name, data)
        if listed:
            resources = [{"name": path, "path": path, "bytes": 1} for path in listed]
            packed.writestr("datapackage.json", json.dumps({"resources": resources}))
    return found.getvalue()


def test_collection_in_a_collection_is_read_and_a_deeper_one_is_named(tmp_path: Path) -> None:
    """Collections are packed into collections: the inner one was skipped without a word."""
    data = packed_in(("archive/a.warc.gz", write(Record(OLD))))
    for depth in range(4):
        (tmp_path / "all.wacz").write_bytes(data)
        found = Found(tmp_path / "all.wacz")
        assert [page.visit.url for page in found.pages] == ([OLD] if depth < 3 else [])
        assert ["too many" in problem for problem in found.problems] == [True] * (depth == 3)
        data = packed_in(("inner.wacz", data))


@pytest.mark.parametrize(
    ("listed", "missing"),
    [
        (("archive/a.warc.gz", "archive/b.warc.gz"), {NOT_THERE: "archive/b.warc.gz"}),
        (("https://a.test/b.wacz", "pages/pages.jsonl"), {ON_SERVER: "https://a.test/b.wacz"}),
        ((".\\archive\\a.warc.gz", "other/a.warc.gz", "a.warc.gz"), {}),
    ],
)
def test_listed_file_that_is_not_in_a_wacz_file_is_counted(
    tmp_path: Path, listed: tuple[str, ...], missing: dict[str, str]
) -> None:
    """Multi-WACZ: the other WACZ files may be on servers."""
    member = ("archive/a.warc.gz", write(Record(OLD)))
    (tmp_path / "a.wacz").write_bytes(packed_in(member, listed=listed))
    found = Found(tmp_path / "a.wacz")
    assert (found.urls, found.problems, found.missing) == ([OLD], [], dict.fromkeys(missing, 1))
    assert found.examples == {kind: f"a.wacz/{path}" for kind, path in missing.items()}


def test_description_in_a_folder_of_a_wacz_file_is_read(tmp_path: Path) -> None:
    """A WACZ file was unpacked, and its folder packed again: a lost file was not named."""
    description = json.dumps({"resources": [{"path": "archive/b.warc.gz"}]}).encode()
    members = (("a/archive/a.warc.gz", write(Record(OLD))), ("a/datapackage.json", description))
    (tmp_path / "a.zip").write_bytes(packed_in(*members))
    found = Found(tmp_path / "a.zip")
    assert (found.urls, found.missing) == ([OLD], {NOT_THERE: 1})


def write_list(path: Path, *listed: object, profile: str = "multi-wacz-package") -> Path:
    """Write the description of several WACZ files, as Browsertrix and wabac.js read it."""
    resources = [
        {"name": f"Archive {number}", "path": one} if isinstance(one, str | list) else one
        for number, one in enumerate(listed)
    ]
    path.write_text(json.dumps({"profile": profile, "title": "All", "resources": resources}))
    return path


def test_json_file_lists_wacz_files_beside_it(tmp_path: Path) -> None:
    """webrecorder/specs#112: the description alone, beside its WACZ files, was not an archive."""
    (tmp_path / "crawls").mkdir()
    for number, name in enumerate(("a.wacz", "crawls/b.wacz", "c", "d é.wacz")):
        member = ("archive/a.warc.gz", write(Record(f"{HOME}{number}")))
        (tmp_path / name).write_bytes(packed_in(member))
    (tmp_path / "e.wacz").write_bytes(b"PK")
    path = write_list(
        tmp_path / "all.json",
        *("a.wacz", "./crawls\\b.wacz", ["c", "d é.wacz"], "a.wacz", "e.wacz", "f.wacz"),
        *("https://a.test/b.wacz?at=1", "s3://bucket/c", 5, {}, {"path": None}, None, ""),
    )
    found = Found(path)
    assert found.urls == [f"{HOME}{n}" for n in range(4)]
    (problem,) = found.problems
    assert problem.startswith("all.json/e.wacz: ")
    assert found.missing == {ON_SERVER: 2, NOT_THERE: 1}
    assert found.examples == {
        ON_SERVER: "all.json/https://a.test/b.wacz?at=1",
        NOT_THERE: "all.json/f.wacz",
    }


def test_command_says_that_listed_files_are_missing(tmp_path: Path, gossamer: Gossamer) -> None:
    (tmp_path / "a.wacz").write_bytes(packed_in(("a.warc.gz", write(Record(OLD)))))
    listed = ("a.wacz", "b.wacz", *(f"https://a.test/{n}.wacz" for n in range(30)))
    gossamer("seed", HOME)
    gossamer("import", write_list(tmp_path / "all.json", *listed), status=1)


def test_description_of_an_unpacked_wacz_file_lists_its_warc_files(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/a.warc.gz").write_bytes(write(Record(OLD)))
    listed = ("archive/a.warc.gz", "pages/pages.jsonl", "indexes/index.cdx.gz")
    path = write_list(tmp_path / "datapackage.json", *listed, profile="data-package")
    path.write_bytes(b"\xef\xbb\xbf\n" + path.read_bytes())
    found = Found(path)
    assert (found.urls, found.problems, found.missing) == ([OLD], [], {})


@pytest.mark.parametrize("listed", ["../a.wacz", "/etc/a.wacz", "C:\\a.wacz", "b/..\\../a.wacz"])
def test_list_names_no_file_outside_of_its_folder(tmp_path: Path, listed: str) -> None:
    """Data Package: such a path is a security risk, since others write the list."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "a.wacz").write_bytes(packed_in(("a.warc.gz", write(Record(OLD)))))
    found = Found(write_list(folder / "all.json", listed))
    assert not found.pages
    assert found.problems == [f"all.json/{listed}: its path leads out of the folder of the list"]


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"resources": []}', '{"resources": {}}', '{"a":' * 9000, "[]"]
)
def test_json_file_that_lists_no_archive_is_named(tmp_path: Path, text: str) -> None:
    assert "it is not a WARC" in problem_of(tmp_path, text.encode(), "all.json")


def test_list_that_lists_itself_or_another_list_is_read_once(tmp_path: Path) -> None:
    path = write_list(tmp_path / "all.json", "all.json")
    found = Found(path)
    assert not found.pages
    assert found.problems == ["all.json/all.json: it is not a WARC, ARC or WACZ file"]


@pytest.mark.parametrize(
    "description", [b"", b"{", b"[]", b'{"resources": 1}', b'{"resources": [{"path": 1}]}', b"\xff"]
)
def test_wacz_file_with_an_invalid_description_is_read(tmp_path: Path, description: bytes) -> None:
    members = (("a.warc.gz", write(Record(OLD))), ("datapackage.json", description))
    (tmp_path / "a.wacz").write_bytes(packed_in(*members))
    found = Found(tmp_path / "a.wacz")
    assert (found.urls, found.problems) == ([OLD], [])


@pytest.mark.parametrize(
    ("start", "name", "command"),
    [
        (b"\x04\x22\x4d\x18", "LZ4", "lz4 -d"),
        (b"\x02\x21\x4c\x18", "LZ4", "lz4 -d"),
        (b"BZh", "bzip2", "bunzip2"),
        (b"\xfd7zXZ\0", "xz", "unxz"),
    ],
)
@pytest.mark.parametrize("suffix", [".lz4", ".bz2", ".xz", ".gz", ""])
def test_member_with_another_compression_is_named(
    tmp_path: Path, start: bytes, name: str, command: str, suffix: str
) -> None:
    """LZ4 has whole heads of records in it: none of them is a page."""
    packed = start + b"\0" * 9 + gzip.decompress(write(Record(HOME)))
    members = (("archive/a.warc.gz", write(Record(OLD))), (f"archive/b.warc{suffix}", packed))
    (tmp_path / "a.wacz").write_bytes(packed_in(*members))
    found = Found(tmp_path / "a.wacz")
    assert found.urls == [OLD]
    (problem,) = found.problems
    assert problem.startswith(f"a.wacz/archive/b.warc{suffix}: it is compressed with {name}, ")
    assert problem.endswith(f"use {command} first")


def test_damaged_wacz_file_in_another_does_not_stop_the_others(tmp_path: Path) -> None:
    """A member began before its file: the import ended with an error."""
    with ZipFile(tmp_path / "a.wacz", "w") as packed:
        packed.writestr("a.warc.gz", write(Record(OLD)))
    whole = (tmp_path / "a.wacz").read_bytes()
    end = whole.rindex(b"PK\5\6")
    size = int.from_bytes(whole[end + 12 : end + 16], "little")
    start = int.from_bytes(whole[end + 16 : end + 20], "little")
    for moved in range(1, 200, 33):
        damaged = (
            whole[: end + 12]
            + size.to_bytes(4, "little")
            + (start + moved).to_bytes(4, "little")
            + whole[end + 20 :]
        )
        with ZipFile(tmp_path / "all.wacz", "w") as packed:
            packed.writestr("b.wacz", damaged)
            packed.writestr("c.warc.gz", write(Record(HOME)))
        found = Found(tmp_path / "all.wacz")
        assert HOME in found.urls
        assert found.problems


class Stream(BytesIO):
    """A file that cannot be sought: the sizes of members are behind them."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise OSError


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.97])
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("kind", [BytesIO, Stream])
def test_wacz_file_that_is_cut_off_has_its_first_captures(
    tmp_path: Path, kind: type[BytesIO], nested: bool, kept: float
) -> None:
    """A download ended: the list of members is at the end of a ZIP file, and all was lost."""
    records = [Record(f"{HOME}{number}", os.urandom(999)) for number in range(20)]
    with ZipFile(out := kind(), "w") as packed:
        packed.writestr("indexes/index.cdx.gz", gzip.compress(b"test,a)/ 2019 {}"))
        for number in range(0, 20, 5):
            packed.writestr(f"archive/{number}.warc.gz", write(*records[number : number + 5]))
            packed.writestr(f"pages/{number}.jsonl", '{"title": "Pages"}')
    data = out.getvalue()
    if nested:
        with ZipFile(out := kind(), "w") as packed:
            packed.writestr("a.wacz", data)
        data = out.getvalue()
    path = tmp_path / "cut.wacz"
    path.write_bytes(data[: int(len(data) * kept)])
    found = Found(path)
    assert [page.body for page in found.pages] == [one.body for one in records[: len(found.pages)]]
    assert len(found.pages) >= 20 * kept - 3
    assert found.problems[0].startswith("cut.wacz: the list of its files, which is at its end")
    assert len(found.problems) <= 2


@pytest.mark.parametrize("compression", [ZIP_STORED, ZIP_DEFLATED])
def test_member_is_not_read_again_for_each_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: int
) -> None:
    records = [Record(f"{HOME}{number}", os.urandom(9000)) for number in range(40)]
    with ZipFile(tmp_path / "a.wacz", "w", compression) as packed:
        packed.writestr("archive/a.warc", data := write(*records, packed=False))
    taken, original = [], ZipExtFile.read

    def count(self: ZipExtFile, size: int = -1) -> bytes:
        taken.append(len(found := original(self, size)))
        return found

    monkeypatch.setattr(ZipExtFile, "read", count)
    found = read(make_importer(), tmp_path / "a.wacz")
    assert [one.body for one in found] == [one.body for one in records]
    assert sum(taken) < 2 * len(data)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.warc.gz", tmp_path):
        with pytest.raises(BadSettings, match="is not a file"):
            sources_of(path)


def test_archived_and_erased_captures_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "old.warc.gz"
    path.write_bytes(write(Record(OLD), Record(HOME), Record(HOME, day=2)))
    importer = make_importer(
        is_archived=lambda url, at: (url, at) == (HOME, FIRST_DAY), is_erased=lambda url: url == OLD
    )
    assert [page.started_at for page in read(importer, path)] == [FIRST_DAY + 2 * DAY]
    assert (importer.counts["archived"], importer.counts["erased"]) == (1, 1)


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    status = 404 if url.endswith("/robots.txt") else 200
    body = f"<p>This is {url}.<a href={OLD}>old</a>" if url == HOME else "<p>Another text now."
    headers = (("Content-Type", "text/html"),)
    reply = Reply(status=status, headers=headers, body=body.encode(), started_at=now, took=0.1)
    return 0.1, reply


class Imports:
    """A crawl to which captures are imported."""

    def __init__(self, folder: Path, how: Imported, **definition: Any) -> None:
        self.folder, self.importer = folder, make_importer(imported=how)
        self.crawl = VirtualCrawl(folder, web)
        self.crawl.define(**definition)

    def add(self, *records: Record) -> None:
        path = self.folder / "old.warc.gz"
        path.write_bytes(write(*records))
        (source,) = sources_of(path)
        events = self.importer.events_of(source, self.crawl.now)
        self.crawl.log.append([encode(event) for event in events])

    def run(self) -> None:
        seed = SeedAdded(url=HOME)
        self.crawl.log.append([encode(seed)])
        assert self.crawl.run()

    def visited(self, url: str) -> int:
        return sum(one == url for _, _, one in self.crawl.requests)

    def history(self, url: str) -> list[HistoryRow]:
        return [*self.crawl._store().table(HistoryRow).scan(("default", url))]

    def events(self, topic: str) -> list[Any]:
        return [decode(record) for record in self.crawl.log.tail([topic]).poll(0)]


def test_imported_page_is_published_and_compared_with_the_visit(tmp_path: Path) -> None:
    imports = Imports(tmp_path, Imported.HISTORY)
    imports.add(Record(OLD), Record(OLD, TEXT + b" A new sentence about lighthouses.", day=2))
    imports.run()
    assert imports.visited(OLD) == 1
    rows = imports.history(OLD)
    assert [row.at for row in rows][-2:] == [FIRST_DAY + 2 * DAY, FIRST_DAY]
    assert [row.change is None for row in rows] == [False, False, True]
    assert [row.reason for row in rows][1:] == ["imported from a WARC file"] * 2
    pages = [one for one in imports.events(PAGES.name) if isinstance(one, Page)]
    assert [one.first_seen for one in pages if one.url == OLD] == [FIRST_DAY]


def test_visited_url_is_not_new_and_is_planned(tmp_path: Path) -> None:
    imports = Imports(tmp_path, Imported.VISITED)
    imports.add(Record(OLD))
    imports.run()
    assert imports.visited(OLD) == 0
    assert len(imports.history(OLD)) == 1

    imports = Imports(tmp_path, Imported.VISITED, revisit="fixed", budget=1000.0)
    imports.add(Record(OLD))
    imports.crawl.run(until=START + DAY)
    assert imports.visited(OLD) > 0
    assert imports.history(OLD)[-2].change


def test_history_has_captures_that_are_older_than_the_rows_of_visits(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    old = page(1, started_at=FIRST_DAY, status=404)
    archived_folder(folder, [old, page(1, started_at=FIRST_DAY + DAY)], ends=True)
    with open_crawl(None, folder) as crawl:
        visits = [*read_history(crawl, old.visit.url)]
    assert [(visit.at, visit.outcome) for visit in visits] == [
        (FIRST_DAY + DAY, "page"),
        (FIRST_DAY, "gone"),
    ]
    assert all(visit.capture for visit in visits)


def test_import_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    imports = Imports(tmp_path, Imported.HISTORY)
    imports.add(Record(OLD))
    imports.run()
    before = imports.history(OLD), imports.events(PAGES.name), imports.events(PAGES_ARCHIVED.name)
    imports.add(Record(OLD))
    assert imports.crawl.run()
    assert (imports.history(OLD), imports.events(PAGES.name)) == before[:2]
    assert imports.events(PAGES_ARCHIVED.name) == before[2]


def test_command_appends_once_and_names_what_it_cannot_use(
    tmp_path: Path, gossamer: Gossamer
) -> None:
    file = tmp_path / "old.warc.gz"
    file.write_bytes(write(Record(OLD), Record(HOME), Record("http://[bad/")))
    gossamer("seed", HOME)
    gossamer("import", "--visited", file, status=1)
    with open_crawl(None, gossamer.data) as crawl:
        records = crawl.log.tail([PAGES_FETCHED.name, URLS_DISCOVERED.name]).poll(0)
        kinds = [type(decode(record)) for record in records]
    assert sorted(kinds, key=str) == [PageFetched, PageFetched, UrlsDiscovered, UrlsDiscovered]


FUTURE, BEFORE_THE_WEB = (
    (("WARC-Date", "2099-01-01T00:00:00Z"),),
    (("WARC-Date", "0001-01-01T00:00:00Z"),),
)


@pytest.mark.parametrize("date", [FUTURE, BEFORE_THE_WEB], ids=["2099", "0001"])
@pytest.mark.parametrize("how", list(Imported))
def test_capture_with_an_impossible_date_does_not_freeze_its_page(
    tmp_path: Path, date: tuple[tuple[str, str], ...], how: Imported
) -> None:
    asked = list[float]()

    def changing_web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url == OLD:
            asked.append(now)
        words = " ".join(f"w{len(asked)}x{number}" for number in range(90))
        text = f"<p>The text number {len(asked)}: {words}"
        reply = Reply(
            status=404 if url.endswith("/robots.txt") else 200,
            headers=(("Content-Type", "text/html"),),
            body=text.encode(), started_at=now, took=0.1,
        )  # fmt: skip
        return 0.1, reply

    imports = Imports(tmp_path, how, revisit="fixed:1d")
    imports.crawl.web = changing_web
    imports.crawl.start()
    imports.add(Record(OLD, warc=date))
    imports.crawl.log.append([encode(SeedAdded(url=OLD))])
    imports.crawl.run(until=START + 0.5 * DAY)
    for day in range(1, 4):
        imports.crawl.run(until=START + (day + 0.5) * DAY)
        (page,) = (one for one in imports.events(PAGES.name) if isinstance(one, Page))
        assert asked and asked[-1] > START + (day - 0.5) * DAY, "the page is visited again"
        assert page.fetched_at == asked[-1], "the newest text is published"


def test_import_of_an_impossible_date_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "old.warc.gz"
    file.write_bytes(write(Record(OLD, warc=FUTURE), Record(HOME, warc=BEFORE_THE_WEB)))
    os.utime(file, (START - DAY, START - DAY))
    first, again = (read(make_importer(), file) for _ in range(2))
    assert [page.started_at for page in first] == [START - DAY, WEB_BEGAN_AT]
    assert [page.started_at for page in again] == [page.started_at for page in first]


def test_large_body_is_a_blob(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "old.warc.gz"
    large = TEXT + b"x" * 3_000_000
    file.write_bytes(write(Record(OLD, large)))
    assert main(["seed", "--data", str(data), HOME]) == 0
    assert main(["import", "--data", str(data), str(file)]) == 0
    with open_crawl(None, data) as crawl:
        (record,) = crawl.log.tail([PAGES_FETCHED.name]).poll(0)
        event = decode(record)
        assert isinstance(event, PageFetched) and crawl.blobs
        loaded = load(event, crawl.blobs())
        assert isinstance(loaded, PageFetched) and loaded.body == large


def test_folder_without_a_crawl_is_refused(tmp_path: Path, gossamer: Gossamer) -> None:
    (tmp_path / "old.warc.gz").write_bytes(write(Record(OLD)))
    gossamer("import", tmp_path / "old.warc.gz", status=1)
