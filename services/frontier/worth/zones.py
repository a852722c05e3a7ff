"""Zones: what first visits to sites have shown of the public suffix and the address of the sites.

A public suffix with a wildcard, or an address, may have sites without end that no site's own
counters can show, because each of them is visited for the first time. The counters of a zone are in
memory only, and all partitions of a frontier share them: each partition has only a part of the
zone's sites. After a restart some sites of the zone are visited before it is judged again.
"""

from collections.abc import Iterable

from msgspec import Struct

from gossamer.services.frontier.worth.worth import MIN_VISITS, Counts, mean_worth

ADDRESS_WORTH = 0.1
"""The worth of unknown sites of an address below which the next ones are parked: after eighteen
sites in a row without a new text. An address of a delivery network has honest sites among others.
"""
MIN_ZONE_GROWTH = 1.5
"""Links to unknown sites of a suffix, for each of its visited sites, from which the suffix has no
end: a network of sites that link to each other has one link to each site that it lacks."""
MAX_ZONES = 10_000
"""Zones that are remembered."""


class Zone(Struct):
    """The counters of a suffix or an address in one crawl."""

    counts: Counts
    """The first visits to its sites, and the links from its sites to unknown ones (`growth`)."""
    has_wildcard: bool = False
    """Whether every name below the suffix resolves."""

    @property
    def worth(self) -> float:
        """The worth of an unknown site of the zone."""
        return mean_worth(self.counts) if self.counts.visits >= MIN_VISITS else 1.0

    @property
    def grows(self) -> bool:
        """Whether the sites of the zone link to more unknown sites than there were visits."""
        return self.counts.growth >= MIN_ZONE_GROWTH * self.counts.visits


class Zones:
    """The zones of all crawls of a frontier, by crawl and name. The oldest ones are forgotten."""

    def __init__(self) -> None:
        self._zones = dict[tuple[str, str], Zone]()

    def get(self, crawl: str, name: str) -> Zone:
        """Return the zone *name*, a suffix or an address."""
        key = (crawl, name)
        if (zone := self._zones.get(key)) is None:
            zone = self._zones[key] = Zone(Counts())
            if len(self._zones) > MAX_ZONES:
                del self._zones[next(iter(self._zones))]
        return zone

    def record_first_visit(self, crawl: str, names: Iterable[str], new: float) -> None:
        """Count the first visit to a site of the zones *names*, which brought *new* texts."""
        for name in names:
            self.get(crawl, name).counts.add_visit(new)

    def prior(self, crawl: str, suffix: str, address: str, duplicates: int) -> float:
        """Return the worth of a page of a site, if nothing is known about the site: that of the
        unknown sites of its suffix, if that has a wildcard, or of its *address*, if hardly any of
        them brought a new text. The links of pages without a new text (*duplicates*) are not worth
        more than other sites of the address."""
        zone = self.get(crawl, suffix)
        of_suffix = zone.worth if zone.has_wildcard else 1.0
        of_address = self.get(crawl, address).worth if address else 1.0
        return min(of_suffix, of_address) if duplicates or of_address < ADDRESS_WORTH else of_suffix

    def lasting_prior(self, crawl: str, suffix: str, address: str, duplicates: int) -> float:
        """Return the worth of a page by which its URL may be parked. Links of pages with a new
        text, and of the first page in a row without one, are parked only if the suffix grows."""
        if duplicates > 1:
            return self.prior(crawl, suffix, address, duplicates)
        zone = self.get(crawl, suffix)
        return zone.worth if zone.has_wildcard and zone.grows else 1.0
