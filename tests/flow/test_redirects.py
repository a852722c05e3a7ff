"""A response is a redirect for the fetcher if and only if the parser finds a link in it."""

import pytest

from gossamer.events import Outcome, PageFetched, Visit
from gossamer.services.fetcher.outcome import Reply, assess
from gossamer.services.parser.page import parse
from gossamer.web.url import HostKey, Site
from tests.parser.pages import NOW, OPTIONS

URL = "http://example.org/a/b"
LOCATIONS = {
    "relative": "../c",
    "elsewhere": "https://other.example/",
    "UTF-8": "/caf\u00e9".encode().decode("latin-1"),
    "UTF-8 that ends in white space of Latin-1": "/voil\u00e0".encode().decode("latin-1"),
    "Latin-1": "/caf\u00e9",
    "padded": " \t/c ",
    "invalid URL": "http://[bad",
    "other scheme": "mailto:a@b.example",
    "too long": "/" + "x" * 3000,
    "empty": "",
    "missing": None,
}


def page(reply: Reply) -> PageFetched:
    return PageFetched(
        at=NOW, site=Site("example.org"),
        host=HostKey("http://example.org"), visit=Visit("1.o.0", URL),
        started_at=NOW, took=0.1, status=reply.status, headers=reply.headers,
    )  # fmt: skip


@pytest.mark.parametrize("location", LOCATIONS.values(), ids=LOCATIONS)
def test_redirect_has_one_link_and_a_bad_redirect_has_none(location: str | None) -> None:
    headers = () if location is None else (("Location", location),)
    for status in {*range(300, 400)} - {304}:
        reply = Reply(status=status, headers=headers)
        outcome = assess(reply, URL, NOW).outcome
        links = parse(page(reply), OPTIONS, NOW).links
        assert (status, outcome in (Outcome.REDIRECT, Outcome.BAD_REDIRECT)) == (status, True)
        assert (status, len(links)) == (status, int(outcome is Outcome.REDIRECT))
        assert all(link.redirect for link in links)
