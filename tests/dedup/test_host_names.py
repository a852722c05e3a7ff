"""Verdicts on hosts are announced, again after a crash, and never lead in a circle."""

import pytest
from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Discovery,
    Event,
    HostsCompared,
    OriginalAnnounced,
    PageParsed,
    UrlsAdmitted,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard
from gossamer.web.url import HostKey, Site, fingerprint

from .test_documents import Instance, Seen, parsed_page

ONE, OTHER = HostKey("http://one.test"), HostKey("http://other.test")
UNTIL = 9e9


def parsed(url: str, at: float) -> list[Event]:
    """Return the page of *url*, whose text depends on its path alone."""
    digest = fingerprint(url.rpartition("/")[2])
    return [parsed_page(url, Seen(200), at, digest=digest, simhash=digest[:16])]


def defined() -> Instance:
    instance = Instance()
    list(instance.dedup.handle(CrawlDefined(at=0.0, scope="any()", max_depth=9), 0.0))
    return instance


def verdicts(instance: Instance, *events: Event) -> list[HostsCompared | OriginalAnnounced]:
    """Return the verdicts on hosts after *events*."""
    found = list[HostsCompared | OriginalAnnounced]()
    for event in events:
        outputs = instance.dedup.handle(event, 99.0)
        found += [one for one in outputs if isinstance(one, HostsCompared | OriginalAnnounced)]
        instance.dedup.settle()
    return found


def mirrored(instance: Instance) -> list[HostsCompared | OriginalAnnounced]:
    """Return the verdicts on the tenth page of a mirror, of which nine pages are equal."""
    for number in range(10):
        verdicts(instance, *parsed(f"{ONE}/{number}", 1.0 + number))
    for number in range(9):
        verdicts(instance, *parsed(f"{OTHER}/{number}", 11.0 + number))
    return verdicts(instance, *parsed(f"{OTHER}/9", 20.0))


def test_verdict_goes_to_the_instance_of_the_original_and_to_the_frontier() -> None:
    compared, announced = mirrored(defined())
    assert isinstance(compared, HostsCompared) and isinstance(announced, OriginalAnnounced)
    assert (compared.site, compared.host, compared.original) == ("one.test", ONE, ONE)
    assert (announced.site, announced.host, announced.original) == ("other.test", OTHER, ONE)


def test_seed_ends_the_verdict_on_its_host_and_a_redelivered_one_announces_it_again() -> None:
    instance = defined()
    mirrored(instance)
    assert admitted(instance, f"{OTHER}/a") == [f"{ONE}/a"]
    urls = (Discovery(f"{OTHER}/"),)
    seed = UrlsDiscovered(at=2.0, site=Site("other.test"), via="seed@seeds/0/1", urls=urls)
    found = verdicts(instance, seed)
    assert [one.original for one in found] == ["", ""]
    assert verdicts(instance, seed) == found
    assert admitted(instance, f"{OTHER}/b") == [f"{OTHER}/b"]


@pytest.mark.parametrize("faulty_first", [True, False])
def test_host_with_an_invalid_certificate_is_not_compared(faulty_first: bool) -> None:
    """Somebody else may serve the pages of a host under a name that is not proven."""
    instance, faulty = defined(), HostKey("https://other.test")
    found = list[HostsCompared | OriginalAnnounced]()
    for at, host in enumerate((faulty, ONE) if faulty_first else (ONE, faulty)):
        hazards = (Hazard.INVALID_CERTIFICATE,) if host == faulty else ()
        for number in range(12):
            (page,) = parsed(f"{host}/{number}", 1.0 + 20.0 * at + number)
            assert isinstance(page, PageParsed)
            found += verdicts(instance, replace(page, hazards=hazards))
    assert found == []


def test_redelivered_page_announces_the_verdict_again() -> None:
    instance = defined()
    found = mirrored(instance)
    assert verdicts(instance, *parsed(f"{OTHER}/9", 20.0)) == found


def test_hosts_with_three_equal_pages_are_compared_in_small_orders() -> None:
    instance = defined()
    for number in range(3):
        verdicts(instance, *parsed(f"{ONE}/{number}", 1.0 + number))
    found = verdicts(instance, *parsed(f"{OTHER}/0", 11.0))
    announced = [one for one in found if isinstance(one, OriginalAnnounced)]
    assert [(one.host, one.original, one.compared) for one in announced] == [(OTHER, "", True)]


def told(host: HostKey, counterpart: str, original: str) -> HostsCompared:
    site = host.removeprefix("http://")
    return HostsCompared(
        at=1.0,
        site=Site(site),
        host=host,
        counterpart=counterpart,
        original=original,
        rule="duphost",
        until=UNTIL,
    )


def admitted(instance: Instance, url: str) -> list[str]:
    """Return the URLs that are admitted, or sent to another site, for a link to *url*."""
    site = url.split("/")[2]
    event = UrlsDiscovered(
        at=2.0, site=Site(site), via="1.1.0@http://c.test/", urls=(Discovery(url, 1),)
    )
    outputs = instance.dedup.handle(event, 99.0)
    found = [one for one in outputs if isinstance(one, UrlsAdmitted | UrlsDiscovered)]
    return [one.url for event in found for one in event.urls]


def test_hosts_that_are_replicas_of_each_other_have_one_original() -> None:
    instance = defined()
    verdicts(instance, told(ONE, OTHER, OTHER), told(OTHER, ONE, ONE))
    assert admitted(instance, f"{ONE}/a") == [f"{ONE}/a"], "the first in the order of their keys"
    assert admitted(instance, f"{OTHER}/b") == [f"{ONE}/b"]


def test_verdict_that_the_other_instance_revokes_ends() -> None:
    instance = defined()
    verdicts(instance, told(OTHER, ONE, ONE))
    assert admitted(instance, f"{OTHER}/a") == [f"{ONE}/a"]
    (announced,) = verdicts(instance, told(OTHER, ONE, ""))
    assert isinstance(announced, OriginalAnnounced) and announced.original == ""
    assert admitted(instance, f"{OTHER}/b") == [f"{OTHER}/b"]
