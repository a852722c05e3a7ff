"""The requisites that dedup releases for pages and styles."""

import pytest

from gossamer.events import PageParsed, Visit
from gossamer.services.dedup.requisites import Requisites
from gossamer.services.dedup.seen import SeenTable
from gossamer.settings import ArchiveSettings
from gossamer.store.sqlite import SqliteStore
from gossamer.web.directives import parse_directives
from gossamer.web.url import HostKey, Site

SITE = Site("a.example")
URL = f"http://{SITE}/style.css"
IMAGE = f"http://{SITE}/image.png"


@pytest.mark.parametrize("header", ["", "noarchive"])
@pytest.mark.parametrize("release", ["release_of_page", "release_of_requisite"])
def test_requisites_of_what_is_not_archived_are_not_released(
    store: SqliteStore, release: str, header: str
) -> None:
    requisites = Requisites(ArchiveSettings(requisites="all"), SeenTable(store), 2000)
    parsed = PageParsed(
        at=1.0,
        site=SITE,
        host=HostKey(f"http://{SITE}"),
        visit=Visit(f"1.0.0@{URL}", URL),
        fetched_at=1.0,
        status=200,
        requisites=(IMAGE,),
        directives=parse_directives([header], "gossamer"),
    )
    found = [one.url for event in getattr(requisites, release)(parsed, 1.0) for one in event.urls]
    assert found == ([] if header else [IMAGE])
