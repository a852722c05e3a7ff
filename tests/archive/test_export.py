"""Merged indexes and WACZ files, read by other people's tools."""

import gzip
import io
import json
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP384R1,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)
from fastwarc.warc import ArchiveIterator, WarcRecordType
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.events import PageFetched
from gossamer.inspection.archive.warcs import WarcFiles
from gossamer.inspection.basics.folder import Opened
from gossamer.log.codec import encode
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.volumes import Volume
from gossamer.web.validators import Validators
from tests.archive.crawled import archived_folder, document, publish
from tests.archive.harness import HTML, check, page, reference_index, run_tool

IMAGE = (("Content-Type", "image/png"),)


def revisit_of(fetched: PageFetched, later: float) -> PageFetched:
    """Return a 304 to a visit some seconds later."""
    visit = replace(fetched.visit, id="9.9.9", validators=Validators('"1"'), conditional=True)
    started_at = fetched.started_at + later
    return replace(fetched, visit=visit, started_at=started_at, status=304, body=b"", headers=())


def pages() -> list[PageFetched]:
    found = [page(number, b"<p>%d" % number, headers=HTML) for number in range(1, 10)]
    found.append(page(10, b"png", headers=IMAGE))
    return [*found, revisit_of(found[0], 1e6), revisit_of(found[9], 1e6)]


def reference_lines(folder: Path) -> list[str]:
    """Return the sorted lines that cdxj-indexer makes of all files in a folder."""
    found = reference_index(path for path in folder.iterdir() if path.suffix != INDEX_SUFFIX)
    return found.replace(".gz.open", ".gz").splitlines(True)


@pytest.mark.parametrize("ends", [True, False])
def test_merged_index_equals_that_of_cdxj_indexer(
    tmp_path: Path, ends: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived_folder(tmp_path / "data", pages(), ends, segment_size=3000)
    assert len(list(folder.warc.glob("*.cdxj"))) > 2
    assert main(["cdx", "--data", str(folder.path)]) == 0
    lines = capsys.readouterr().out.splitlines(True)
    assert len(lines) == len(pages())
    assert lines == reference_lines(folder.warc)
    target = tmp_path / "index.cdxj"
    assert main(["cdx", "--data", str(folder.path), "--output", str(target)]) == 0
    assert target.read_text().splitlines(True) == lines


@pytest.mark.parametrize("ends", [True, False])
def test_index_of_zstd_files_has_all_captures(
    tmp_path: Path, ends: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = dict[str, list[str]]()
    for compression in ("gzip", "zstd"):
        folder = archived_folder(
            tmp_path / compression, pages(), ends, segment_size=3000, compression=compression
        )
        assert main(["cdx", "--data", str(folder.path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        found[compression] = [line.split(' "length"')[0] for line in lines]
    assert len(found["zstd"]) == len(pages())
    assert found["zstd"] == found["gzip"]


def test_damage_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = archived_folder(tmp_path / "data", pages(), ends=True)
    (path,) = folder.warc.glob("*.gz")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    target = tmp_path / "site.wacz"
    for more in ([], ["--since", "2020-01-01"], ["--where", 'type("image/*")']):
        assert main(["export", str(target), "--data", str(folder.path), *more]) == 0
        assert "1 damaged file: captures behind the damage" in capsys.readouterr().out


def test_zstd_files_are_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "site.wacz"
    command = ["export", str(target), "--data", str(tmp_path / "data")]
    archived_folder(tmp_path / "data", pages()[:2], compression="zstd")
    assert main(command) == 1
    assert "all WARC files are compressed with zstd" in capsys.readouterr().err
    assert not target.exists()
    archived_folder(tmp_path / "data", pages()[2:4])
    assert main(command) == 0
    assert "1 WARC file with zstd left out" in capsys.readouterr().out
    with ZipFile(target) as file:
        assert [name for name in file.namelist() if ".zst" in name] == []


def test_uncommitted_bytes_are_not_indexed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived_folder(tmp_path, pages()[:3])
    (path,) = folder.warc.glob("*.open")
    path.write_bytes(path.read_bytes() * 2)
    assert main(["cdx", "--data", str(folder.path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_indexes_are_read_in_small_parts(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path, pages(), ends=True, segment_size=3000)
    warcs = WarcFiles(folder.warc)
    whole = [[*warcs.lines(file)] for file in warcs.files]
    assert [[*warcs.lines(file, 7)] for file in warcs.files] == whole


def test_index_is_derived_if_it_is_missing(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path, pages(), ends=True, segment_size=3000)
    lines = [*WarcFiles(folder.warc).merged_lines()]
    for path in folder.warc.glob("*.cdxj"):
        path.unlink()
    assert [*WarcFiles(folder.warc).merged_lines()] == lines


def test_files_in_volumes_are_indexed_once(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path / "data", pages(), ends=True, segment_size=3000)
    lines = [*WarcFiles(folder.warc).merged_lines()]
    volumes = [Volume((tmp_path / name).as_uri()) for name in ("first", "second")]
    # The first file is in both volumes, as after a crash; the second one also in the folder.
    for number, path in enumerate(sorted(folder.warc.iterdir())):
        for volume in volumes if number < 2 else volumes[:1]:
            volume.put(path.name, path)
        if number not in (2, 3):
            path.unlink()
    warcs = WarcFiles(folder.warc, volumes)
    assert [*warcs.merged_lines()] == lines
    assert all(warcs.uris(file) for file in warcs.files)


def export(folder: Path, target: Path, *options: str) -> dict[str, bytes]:
    """Return the entries of a WACZ file that `wacz validate` accepts."""
    assert main(["export", "--data", str(folder), str(target), *options]) == 0
    run_tool("wacz", "validate", "-f", str(target))
    with ZipFile(target) as file:
        for info in file.infolist():
            if info.filename.endswith(".gz"):
                assert info.compress_type == ZIP_STORED
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.long
def test_pywb_unpacks_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """webrecorder/browsertrix#2814: "does not contain any indices", though it had one."""
    folder = archived_folder(tmp_path / "data", [page(number) for number in range(1, 9)])
    export(folder.path, tmp_path / "a.wacz")
    monkeypatch.chdir(tmp_path)
    run_tool("wb-manager", "init", "c")
    run_tool("wb-manager", "add", "--unpack-wacz", "c", "a.wacz")
    indexes = (tmp_path / "collections" / "c" / "indexes").iterdir()
    assert sum(len(path.read_text().splitlines()) for path in indexes) == 8


def captures_of(entries: dict[str, bytes], tmp_path: Path) -> list[tuple[str, str]]:
    """Return type and URL of each capture in the WARC files, read by FastWARC.

    The index must have the positions of all of them except those of a 304.
    """
    found, replayed = list[tuple[str, str]](), list[tuple[str, str]]()
    for name, data in entries.items():
        if not name.startswith("archive/"):
            continue
        kinds = WarcRecordType.response | WarcRecordType.revisit
        for record in ArchiveIterator(io.BytesIO(data), record_types=kinds, parse_http=False):
            found.append((record.headers["WARC-Type"], record.headers["WARC-Target-URI"]))
            if not record.reader.read().startswith(b"HTTP/1.1 304 "):
                replayed.append(found[-1])
        path = tmp_path / name.removeprefix("archive/")
        path.write_bytes(data)
        check([str(path)])
    indexed = list[tuple[str, str]]()
    for line in gzip.decompress(entries["indexes/index.cdx.gz"]).decode().splitlines():
        place = json.loads(line.split(" ", 2)[2])
        data = entries[f"archive/{place['filename']}"]
        start = int(place["offset"])
        part = data[start : start + int(place["length"])]
        (record,) = ArchiveIterator(io.BytesIO(part), parse_http=False)
        assert record.headers["WARC-Target-URI"] == place["url"]
        indexed.append((record.headers["WARC-Type"], place["url"]))
    assert sorted(indexed) == sorted(replayed)
    return found


def page_lines(entries: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    header, *lines = entries["pages/pages.jsonl"].splitlines()
    assert json.loads(header)["format"] == "json-pages-1.0"
    yield from map(json.loads, lines)


def read_as_wabac_does(data: bytes) -> dict[str, bytes]:
    """Return the entries of a ZIP file, found as `ziprangereader.ts` of wabac.js finds them.

    It reads a local header only if the entry in the central directory has extra fields.
    """
    found = dict[str, bytes]()
    end = data.rindex(b"PK\5\6")
    entries, at = unpack_from("<H", data, end + 10)[0], unpack_from("<I", data, end + 16)[0]
    if at == 0xFFFFFFFF:
        assert data[end - 20 : end - 16] == b"PK\6\7"
        record = unpack_from("<Q", data, end - 12)[0]
        entries, at = (
            unpack_from("<Q", data, record + 32)[0],
            unpack_from("<Q", data, record + 48)[0],
        )
    for _ in range(entries):
        method, stored, size = *unpack_from("<H", data, at + 10), *unpack_from("<II", data, at + 20)
        name_length, extra_length, comment_length = unpack_from("<HHH", data, at + 28)
        (local,) = unpack_from("<I", data, at + 42)
        name = data[at + 46 : at + 46 + name_length]
        extra = data[at + 46 + name_length : at + 46 + name_length + extra_length]
        if extra:
            kind, length = unpack_from("<HH", extra)
            assert (kind, length) == (1, len(extra) - 4)
            large = [*unpack_from(f"<{length // 8}Q", extra, 4)]
            size = large.pop(0) if size == 0xFFFFFFFF else size
            stored = large.pop(0) if stored == 0xFFFFFFFF else stored
            local = large.pop(0) if local == 0xFFFFFFFF else local
            assert not large
        local_name, local_extra = unpack_from("<HH", data, local + 26)
        assert data[local : local + 4] == b"PK\3\4"
        assert data[local + 30 : local + 30 + local_name] == name
        assert extra or not local_extra, name
        start = local + 30 + name_length + (local_extra if extra else 0)
        content = data[start : start + stored]
        found[name.decode()] = zlib.decompress(content, -15) if method else content
        assert len(found[name.decode()]) == size
        at += 46 + name_length + extra_length + comment_length
    return found


def test_index_of_a_wacz_has_times_in_milliseconds_and_no_304(tmp_path: Path) -> None:
    """ReplayWeb.page showed a 304 as an empty page, and the wrong version for a revisit record."""
    folder = archived_folder(tmp_path / "data", pages())
    target = tmp_path / "site.wacz"
    assert main(["export", str(target), "--data", str(folder.path)]) == 0
    lines = gzip.decompress(read_as_wabac_does(target.read_bytes())["indexes/index.cdx.gz"])
    times = [line.split()[1] for line in lines.decode().splitlines()]
    assert sorted(times) == [f"202311142213{20 + number}250" for number in range(1, 11)]


def test_index_of_blocks_has_the_whole_key_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ReplayWeb.page found no capture of a block that began with a URL with a brace."""
    urls = ("http://a.example/{id}", "http://a.example/?q={", "http://a.example/")
    fetched = [
        replace(one, visit=replace(one.visit, url=url))
        for one, url in zip(pages(), urls, strict=False)
    ]
    folder = archived_folder(tmp_path / "data", fetched)
    monkeypatch.setattr("gossamer.inspection.archive.wacz.INDEX_LINES", 1)
    target = tmp_path / "site.wacz"
    assert main(["export", str(target), "--data", str(folder.path)]) == 0
    with ZipFile(target) as file:
        blocks = file.read("indexes/index.cdx.gz")
        places = file.read("indexes/index.idx").decode().splitlines()[1:]
    for place in places:
        key, time, fields = place.split(" ", 2)
        at = json.loads(fields)
        line = gzip.decompress(blocks[at["offset"] : at["offset"] + at["length"]]).decode()
        assert line.startswith(f"{key} {time} {{")
    assert len(places) == len(urls)


@pytest.mark.parametrize("limit", [zipfile.ZIP64_LIMIT, 20_000, 5_000, 700, 0])
def test_files_in_a_wacz_begin_where_its_directory_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """ReplayWeb.page: "SyntaxError: Unexpected token … is not valid JSON" (webrecorder/wabac.js,
    `ziprangereader.ts`)."""
    folder = archived_folder(tmp_path / "data", pages(), segment_size=3000)
    publish(folder, *pages()[:9])
    target = tmp_path / "site.wacz"
    monkeypatch.setattr("zipfile.ZIP64_LIMIT", limit)
    assert main(["export", str(target), "--data", str(folder.path)]) == 0
    found = read_as_wabac_does(target.read_bytes())
    package = json.loads(found["datapackage.json"])
    assert {one["path"] for one in package["resources"]} | {
        "datapackage.json",
        "datapackage-digest.json",
    } == found.keys()
    with ZipFile(target) as file:
        assert {name: file.read(name) for name in file.namelist()} == found


@pytest.mark.parametrize("texts", [(), (None, "words"), (None, None)])
def test_page_list_has_text_only_if_pages_have_it(
    tmp_path: Path, texts: tuple[str | None, ...]
) -> None:
    folder = archived_folder(tmp_path / "data", pages())
    command = ["export", "--data", str(folder.path)]
    opened = Opened(folder)
    listed = [replace(document(one), text=text) for one, text in zip(pages(), texts, strict=False)]
    opened.log.append([encode(one) for one in listed])
    opened.database.close()
    assert main([*command, str(tmp_path / "site.wacz")]) == 0
    with ZipFile(tmp_path / "site.wacz") as file:
        header, *lines = map(json.loads, file.read("pages/pages.jsonl").splitlines())
    assert header["hasText"] == any(texts)
    assert [line.get("text") for line in lines] == [*texts]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("zstd",), "1 capture in a coding that ReplayWeb.page does not decode (zstd)"),
        (("GZIP",), "does not decode (GZIP)"),
        (("gzip, br",), "does not decode (gzip, br)"),
        (("gzip", "br"), "does not decode (gzip, br)"),
        (("gzip",), ""),
        (("br",), ""),
        (("identity",), ""),
        (("utf-8",), ""),
        ((), ""),
    ],
)
def test_captures_that_the_viewer_does_not_decode_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: tuple[str, ...], said: str
) -> None:
    headers = tuple(("Content-Encoding", value) for value in values)
    # A body may have such a line, too.
    body = b"\r\n\r\nContent-Encoding: zstd\r\n"
    folder = archived_folder(tmp_path / "data", [page(1, body, headers=headers)])
    assert main(["export", str(tmp_path / "site.wacz"), "--data", str(folder.path)]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert ("decode" in printed) == bool(said)


@pytest.mark.parametrize("limit", [200, 20_000])
def test_list_that_the_viewer_searches_in_part_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit: int
) -> None:
    """wabac.js, `MAX_TEXT_INDEX`: a search found no word of the later pages."""
    folder = archived_folder(tmp_path / "data", pages())
    publish(folder, *pages()[:9])
    monkeypatch.setattr("gossamer.inspection.archive.wacz.SEARCHED_BYTES", limit)
    assert main(["export", str(tmp_path / "site.wacz"), "--data", str(folder.path)]) == 0
    assert ("first MiB" in capsys.readouterr().out) == (limit == 200)


def test_title_and_description_are_those_of_the_options(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path / "data", pages()[:1])
    command = ["export", "--data", str(folder.path), str(tmp_path / "site.wacz")]
    for options, expected in (
        ([], (f"Archive of {folder.path}", None)),
        (["--title", "A museum", "--description", "<All> pages"], ("A museum", "<All> pages")),
    ):
        assert main([*command, *options]) == 0
        with ZipFile(tmp_path / "site.wacz") as file:
            package = json.loads(file.read("datapackage.json"))
        for about in (package, package["metadata"]):
            assert (about["title"], about.get("description")) == expected


@pytest.mark.slow
@pytest.mark.parametrize("ends", [pytest.param(True, marks=pytest.mark.long), False])
def test_wacz_has_all_captures_and_pages(tmp_path: Path, ends: bool) -> None:
    folder = archived_folder(tmp_path / "data", pages(), ends, segment_size=3000)
    hidden = page(50)
    publish(folder, *pages()[:9], hidden)
    entries = export(folder.path, tmp_path / "all.wacz")
    assert len(captures_of(entries, tmp_path)) == len(pages())
    listed = [*page_lines(entries)]
    # A page that asked not to be archived has no capture, so its text is not exported.
    assert {line["url"] for line in listed} == {one.visit.url for one in pages()[:9]}
    assert all(line["title"] and line["text"].startswith("Text of") for line in listed)
    assert "signedData" not in json.loads(entries["datapackage-digest.json"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ('host("site1.example")', {1, 4, 7, 10}),
        ('type("image/*")', {10}),
        ('not type("image/*") and prefix("http://site2.example/page/2")', {2}),
        ("depth(1)", set()),
    ],
)
def test_wacz_has_the_captures_that_match(tmp_path: Path, where: str, expected: set[int]) -> None:
    folder = archived_folder(tmp_path / "data", pages(), segment_size=3000)
    publish(folder, *pages()[:9])
    entries = export(folder.path, tmp_path / "some.wacz", "--where", where)
    found = captures_of(entries, tmp_path)
    urls = {page(number).visit.url for number in expected}
    assert {url for _, url in found} == urls
    assert {url for kind, url in found if kind == "response"} == urls
    revisited = {page(number).visit.url for number in expected & {1, 10}}
    assert {url for kind, url in found if kind == "revisit"} == revisited
    assert {line["url"] for line in page_lines(entries)} == urls - {page(10).visit.url}


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "numbers"), [((), (1, 10)), (("--where", 'type("image/*")'), (10,))]
)
def test_wacz_of_new_captures_has_the_bodies_of_their_revisits(
    tmp_path: Path, options: tuple[str, ...], numbers: tuple[int, ...]
) -> None:
    folder = archived_folder(tmp_path / "data", pages(), segment_size=3000)
    entries = export(folder.path, tmp_path / "new.wacz", "--since", "2023-11-20", *options)
    urls = {page(number).visit.url for number in numbers}
    expected = {(kind, url) for kind in ("response", "revisit") for url in urls}
    assert {*captures_of(entries, tmp_path)} == expected


@pytest.mark.slow
def test_signature_is_that_of_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, path = generate_private_key(SECP384R1()), tmp_path / "key.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    monkeypatch.setenv("GOSSAMER_ARCHIVE__SIGNING_KEY", str(path))
    folder = archived_folder(tmp_path / "data", pages())
    entries = export(folder.path, tmp_path / "signed.wacz")
    digest = json.loads(entries["datapackage-digest.json"])
    signed = digest["signedData"]
    assert signed["hash"] == digest["hash"]
    public = load_der_public_key(b64decode(signed["publicKey"]))
    assert isinstance(public, EllipticCurvePublicKey)
    raw = b64decode(signed["signature"])
    r, s = int.from_bytes(raw[:48]), int.from_bytes(raw[48:])
    public.verify(encode_dss_signature(r, s), digest["hash"].encode(), ECDSA(SHA256()))


def test_unusable_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived_folder(tmp_path / "data", pages()[:1])
    target = tmp_path / "x.wacz"
    command = ["export", "--data", str(folder.path), str(target)]
    assert main([*command, "--where", 'language("pt")']) == 2
    assert "language" in capsys.readouterr().err
    (tmp_path / "key").write_text("no key")
    monkeypatch.setenv("GOSSAMER_ARCHIVE__SIGNING_KEY", str(tmp_path / "key"))
    assert main(command) == 2
    assert "archive.signing_key" in capsys.readouterr().err
    monkeypatch.delenv("GOSSAMER_ARCHIVE__SIGNING_KEY")
    assert main([*command[:-1], str(tmp_path / "none" / "x.wacz")]) == 2
    assert [*tmp_path.glob("*.wacz*")] == []
