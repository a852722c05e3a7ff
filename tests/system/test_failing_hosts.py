"""A host that answers with server errors only: it is not asked for each of its URLs."""

from pathlib import Path

import pytest

from tests.support.serving import NOTHING, Sent, serving

from .crawl import ask, crawl_urls

URLS = 60


@pytest.mark.long
def test_host_with_server_errors_only_is_not_asked_for_each_of_its_urls(tmp_path: Path) -> None:
    pages: list[str] = []

    def answer(path: str) -> Sent:
        if path == "/robots.txt":
            return NOTHING
        pages.append(path)
        return Sent(b"out of order", 500)

    with serving(answer) as host:
        seeds = [f"{host}/{number}" for number in range(URLS)]
        done = crawl_urls(tmp_path, "--revisit", "none", *seeds)
    assert done.code == 3, "only a host that backs off is left"
    assert 4 <= len(pages) <= 10, "one order, which was made before the fourth failure"
    hosts = ask(tmp_path, "hosts")
    assert "backing off until" in hosts.out and host in hosts.out
