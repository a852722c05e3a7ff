"""The files of the web console, and archived pages for its frame."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.console.api.routes.pages import FOLDER
from gossamer.console.api.routes.urls import file_name
from gossamer.inspection.archive import versions
from tests.console.archived import PAGE, Archived
from tests.console.served import Client, client_of, make_api

HTML = ("Content-Type", "text/html; charset=utf-8")
HOSTILE = (
    b"<html><title>Shop</title><script>steal()</script><body onload=steal()>"
    b'<a href="https://evil.example/">Prices</a><img src="https://evil.example/x.png">'
    b'<iframe src="https://evil.example/"></iframe><p style="background:url(//evil.example)">10</p>'
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a hostile archived page."""
    archived = Archived(tmp_path)
    archived.add(PAGE, 0, gzip.compress(HOSTILE), headers=(HTML, ("Content-Encoding", "gzip")))
    return archived.end()


def test_files_of_the_console_need_no_token_and_allow_no_other_server(data: Path) -> None:
    with client_of(make_api(data), token=None) as client:
        page = client.get("/")
        assert (
            page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        )
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "http" not in policy
        for name in re.findall(r'(?:src|href)="\./([^"]+)"', page.text):
            found = client.get(f"/{name}")
            assert found.status_code == 200, name
            again = client.get(f"/{name}", headers={"If-None-Match": found.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        assert client.get("/v1/session").status_code == 401


def test_only_files_of_the_console_are_served(client: Client) -> None:
    assert (FOLDER / "index.html").is_file()
    for name in (
        "nothing.js",
        "..%2Fapi%2Fapp.py",
        "%2e%2e/doctor.py",
        "index.html%00.js",
        "py.typed",
    ):
        assert client.get(f"/{name}").status_code == 404, name


def test_archived_page_is_harmless(client: Client) -> None:
    found = client.get("/v1/crawls/default/archived", params={"url": PAGE})
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/html")
    policy = found.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'") and "frame-ancestors 'self'" in policy
    assert "10" in found.text and "Prices" in found.text
    for word in ("steal", "<script", "<iframe", "<img", "onload", "href=", "src=", "url("):
        assert word not in found.text, word


@pytest.mark.parametrize("path", ["archived", "body"])
def test_refused_parameter_is_repeated_in_json_only(client: Client, path: str) -> None:
    refused = client.get(f"/v1/crawls/default/{path}", params={"at": "<script>alert(1)</script>"})
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/json"


def test_page_that_is_not_archived_is_not_found(client: Client) -> None:
    for path in ("archived", "capture", "url/path"):
        missing = client.get(f"/v1/crawls/default/{path}", params={"url": f"{PAGE}-other"})
        assert missing.status_code == 404, path


def test_body_of_a_version_is_a_file_that_no_browser_opens(client: Client) -> None:
    found = client.get("/v1/crawls/default/body", params={"url": PAGE})
    assert (found.status_code, found.content) == (200, HOSTILE)
    headers = found.headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"] == 'attachment; filename="p"'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    for query in ({"url": f"{PAGE}/other"}, {"url": PAGE, "at": "1.0"}):
        assert client.get("/v1/crawls/default/body", params=query).status_code == 404


def test_body_that_is_too_large_is_refused_with_the_remedy(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MAX_BODY_BYTES", 20)
    found = client.get("/v1/crawls/default/body", params={"url": PAGE})
    assert found.status_code == 400 and "gossamer show" in found.json()["detail"]


@given(st.text())
def test_name_of_a_saved_body_is_safe(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", file_name(f"https://a.example/{text}"))


def test_name_of_a_saved_body_is_the_end_of_its_path() -> None:
    assert file_name("https://a.example:8080/x/report%20.pdf?v=1") == "report_20.pdf"
    assert file_name("https://a.example:8080/") == "a.example_8080"
    assert file_name("https://a.example/..") == "a.example"
