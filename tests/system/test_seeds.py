"""The exit status and the message of a run whose seeds yield no pages."""

import re
import socket
from pathlib import Path

import pytest

from tests.support.serving import HTML, Sent, serving

from .crawl import crawl_urls

NO_PAGE = 3


def moved(target: str) -> Sent:
    """`/` redirects to `/new`."""
    return Sent(b"", {"/": 301, "/new": 200}.get(target, 404), MOVED)


MOVED = {"Location": "/new", "Content-Type": HTML}


def nobody() -> str:
    """Return a host on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.long
def test_seeds_without_pages_have_an_exit_status_of_their_own(tmp_path: Path) -> None:
    down = nobody()
    done = crawl_urls(tmp_path / "data", f"{down}/")
    assert done.code == NO_PAGE and done.err == ""
    assert f"{down}/" in done.out and "connection refused" in done.out
    [blocked] = re.findall(
        r"backing off +(\S+) until ((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC) \((.*)\)", done.out
    )
    assert blocked[0] == down and "connection refused" in blocked[2]
    assert re.search(rf"due before .*{blocked[1]}", done.out)


@pytest.mark.long
def test_redirected_seed_counts_as_a_page_and_another_may_fail(tmp_path: Path) -> None:
    with serving(moved) as host:
        done = crawl_urls(tmp_path / "data", f"{host}/", f"{host}/missing")
        assert (done.code, done.err) == (0, "")
        done = crawl_urls(tmp_path / "data", f"{host}/missing")
        assert done.code == NO_PAGE and f"{host}/missing: 404 " in done.out
        done = crawl_urls(tmp_path / "data")
        assert (done.code, done.err) == (0, ""), "no seed was named, and there are pages"


@pytest.mark.long
def test_failed_host_is_visited_at_once_if_its_seed_is_added_again(tmp_path: Path) -> None:
    data, down = tmp_path / "data", nobody()
    assert crawl_urls(data, f"{down}/").code == NO_PAGE
    with serving(moved, int(down.rpartition(":")[2])):
        done = crawl_urls(data, f"{down}/")
    assert (done.code, done.err) == (0, "") and re.search(r"pages +1 ", done.out)
