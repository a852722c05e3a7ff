"""Downloads of third-party test data and their verification, against a server on this machine."""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import suites
from tests.suites import ROOT, convert_robots_cases, load_suites, main


class Upstream:
    """A server of files by path, which records requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.broken = 0
        """The number of next requests that are answered 503."""
        self.requests: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                upstream.requests.append(self.path)
                broken, upstream.broken = upstream.broken > 0, max(0, upstream.broken - 1)
                body = upstream.files.get(self.path, b"")
                self.send_response(503 if broken else 200 if body else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        return Handler


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Upstream()
    thread = threading.Thread(target=running.server.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


TEXT, PAGE = b'{"a": 1}', gzip.compress(b"<p>", mtime=0)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(files: dict[str, bytes]) -> bytes:
    """Return an archive of a commit."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(f"r-c0ffee/{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def suite_list(upstream: Upstream, tmp_path: Path) -> Path:
    """Return a list of two files upstream, and of one that exists only in copies."""
    upstream.files["/o/r/c0ffee"] = archive({"data/a b.json": TEXT, "page.gz": PAGE, "c": b"c"})
    file = tmp_path / "suites.toml"
    file.write_text(
        f"""
        archives = "{upstream.url}/{{repository}}/{{commit}}"
        [both]
        content = "two files"
        repository = "o/r"
        commit = "c0ffee"
        license = "MIT"
        [both.files]
        "a.json.gz" = ["data/a b.json", "{sha256(TEXT)}"]
        "pages/page.gz" = ["page.gz", "{sha256(PAGE)}"]
        [copies]
        content = "one file"
        repository = "o/other"
        commit = "c0ffee"
        license = "MIT"
        not_fetched = "it was collected by hand"
        [copies.derived]
        "by-hand.gz" = "{sha256(b"collected")}"
        """
    )
    return file


def fetch(suite_list: Path, folder: Path) -> int:
    return main(["--list", str(suite_list), "--folder", str(folder)])


def test_files_are_fetched_once_under_our_names(
    suite_list: Path, upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert fetch(suite_list, folder) == 0
    assert gzip.decompress((folder / "a.json.gz").read_bytes()) == TEXT
    assert (folder / "pages" / "page.gz").read_bytes() == PAGE
    assert not (folder / "c").exists()
    assert fetch(suite_list, folder) == 0
    assert upstream.requests == ["/o/r/c0ffee"]
    output = capsys.readouterr().out
    assert "both: 2 files verified" in output
    assert "copies: not fetched: it was collected by hand" in output


def test_damaged_file_is_fetched_again(
    suite_list: Path, upstream: Upstream, tmp_path: Path
) -> None:
    assert fetch(suite_list, tmp_path) == 0
    (tmp_path / "pages" / "page.gz").write_bytes(b"damaged")
    assert fetch(suite_list, tmp_path) == 0
    assert (tmp_path / "pages" / "page.gz").read_bytes() == PAGE
    assert len(upstream.requests) == 2


def test_file_with_another_sha256_is_not_stored(
    suite_list: Path, upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.files["/o/r/c0ffee"] = archive({"data/a b.json": TEXT, "page.gz": b"other"})
    assert fetch(suite_list, tmp_path) == 1
    output = capsys.readouterr().err
    assert f"page.gz in o/r at c0ffee has SHA-256 {sha256(b'other')}, not {sha256(PAGE)}" in output
    assert not (tmp_path / "pages").exists()


def test_file_that_is_missing_upstream_is_reported(
    suite_list: Path, upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.files["/o/r/c0ffee"] = archive({"data/a b.json": TEXT})
    assert fetch(suite_list, tmp_path) == 1
    assert "page.gz in o/r at c0ffee is missing" in capsys.readouterr().err


@pytest.mark.parametrize(("broken", "code"), [(1, 0), (1000, 1)])
def test_failed_request_is_retried_twice(
    suite_list: Path, upstream: Upstream, tmp_path: Path, broken: int, code: int
) -> None:
    upstream.broken = broken
    assert fetch(suite_list, tmp_path) == code
    assert len(upstream.requests) == (2 if code == 0 else 3)


def test_truncated_archive_is_an_error(
    suite_list: Path, upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.files["/o/r/c0ffee"] = upstream.files["/o/r/c0ffee"][:100]
    assert fetch(suite_list, tmp_path) == 1
    assert "both: http://127.0.0.1" in capsys.readouterr().err


def test_copy_is_verified_and_not_written(
    suite_list: Path,
    upstream: Upstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = tmp_path / "copy"
    assert fetch(suite_list, copy) == 0
    (copy / "by-hand.gz").write_bytes(gzip.compress(b"collected"))
    monkeypatch.setenv("GOSSAMER_SUITES", str(copy))
    assert main(["--list", str(suite_list)]) == 0
    assert "copies: 1 file verified" in capsys.readouterr().out
    (copy / "a.json.gz").unlink()
    (copy / "by-hand.gz").write_bytes(gzip.compress(b"damaged"))
    assert main(["--list", str(suite_list)]) == 1
    output = capsys.readouterr().err
    assert "a.json.gz is missing" in output and "by-hand.gz has SHA-256" in output
    assert len(upstream.requests) == 1


def test_committed_suite_is_verified_wherever_the_others_are(
    suite_list: Path, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suites, "ROOT", tmp_path / "repository")
    text = (
        '[c]\ncontent = "c"\nrepository = "o/c"\ncommit = "c"\nlicense = "MIT"\nfolder = "data"\n'
        f'[c.files]\n"a" = ["a", "{sha256(TEXT)}"]\n'
    )
    file = tmp_path / "repository" / "data" / "a"
    file.parent.mkdir(parents=True)
    suite_list.write_text(suite_list.read_text() + text)
    file.write_bytes(TEXT)
    assert fetch(suite_list, tmp_path / "fetched") == 0
    file.write_bytes(b"changed")
    assert fetch(suite_list, tmp_path / "fetched") == 1
    assert file.read_bytes() == b"changed"


def test_data_folder_is_the_named_one_then_the_one_beside_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOSSAMER_SUITES", raising=False)
    monkeypatch.setattr(suites, "KEPT_COPY", tmp_path / "beside")
    assert suites.data_folder() == ROOT / ".suites"
    (tmp_path / "beside").mkdir()
    assert suites.data_folder() == tmp_path / "beside"
    monkeypatch.setenv("GOSSAMER_SUITES", str(tmp_path / "named"))
    assert suites.data_folder() == tmp_path / "named"


def test_robots_cases_are_parsed_from_protobuf_text_format(tmp_path: Path) -> None:
    file = tmp_path / "ours.textproto"
    file.write_text(
        r"""# proto-file: ours
        tests: [{
            robotstxt:  "\xEFuser-agent: a\n"
                "allow: \"ツ\"\n"
            test_expectations: [
              { testurl: "http://a.test/ツ" useragent: "a" expected_outcome: ALLOWED
                additional_explanation: "why: " "so" },
              { testurl: "http://a.test/" useragent: "b" expected_outcome: DISALLOWED }
            ]
        }]""",
        encoding="utf-8",
    )
    robots = '"robots": "\\u00efuser-agent: a\\nallow: \\"\\u00e3\\u0083\\u0084\\"\\n"'
    assert convert_robots_cases([file]).decode().splitlines() == [
        f'{{"file": "ours.textproto", {robots}, "url": "http://a.test/\\u30c4", "agent": "a", '
        '"allowed": true, "why": "why: so"}',
        f'{{"file": "ours.textproto", {robots}, "url": "http://a.test/", "agent": "b", '
        '"allowed": false, "why": ""}',
    ]


def test_list_has_all_fields() -> None:
    template, suite_list = load_suites()
    assert template.startswith("https://")
    digests = set()
    for suite in suite_list.values():
        assert len(suite.commit) == 40 and suite.license and suite.content
        assert suite.files or suite.not_fetched
        digests |= {digest for _, digest in suite.files.values()} | {*suite.derived.values()}
    assert {len(digest) for digest in digests} == {64}


@pytest.mark.slow
def test_run_without_the_data_passes_and_prints_the_fetch_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1"]
    command += ["tests/deploy/test_compose.py", "-k", "specification or unknown"]
    environment = os.environ | {"GOSSAMER_SUITES": str(tmp_path), "CI": "true"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    output = done.stdout.splitlines()
    line = "2 conformance tests were skipped: the third-party data is not here; "
    assert output[-2] == line + "`scripts/suites` fetches it"
    assert "2 passed, 2 skipped" in output[-1]
