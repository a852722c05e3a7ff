"""What is taken of a site as a whole, so that no trap makes the store grow without end.

A site whose names never end is refused more hosts than a limit. A URL that is refused for good has
a row in `urls` only while few of its site were refused by the same rule; the others are counted.
"""

from msgspec.structs import replace

from gossamer.events.outcomes import Hazard
from gossamer.store import Store
from services.frontier.rows import SiteRow

SAMPLE = 100
"""Of the URLs of a site that a rule refuses for good, so many have a row each."""
FOR_GOOD = frozenset({Hazard.REDIRECT, Hazard.TRAP_HOSTS, Hazard.TRAP_URLS, Hazard.ROBOTS_EXCLUDED})
"""The rules of admission whose refusals nothing takes back."""
REMEMBERED = 10_000
"""Sites whose rows are kept in memory, the last used ones."""


class Sites:
    """All sites of the claimed partitions."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(SiteRow)
        self._recent: dict[str, SiteRow] = {}

    def forget(self) -> None:
        """Read every row anew: others may have written them meanwhile."""
        self._recent.clear()

    def hosts(self, site: str) -> int:
        """Return how many hosts of *site* were admitted."""
        return self._row(site).hosts

    def host_admitted(self, site: str) -> None:
        """Count one host more."""
        row = self._row(site)
        self._put(replace(row, hosts=row.hosts + 1))

    def refuse(self, site: str, rule: Hazard) -> bool:
        """Count a URL of *site* that *rule* refuses; return whether it is to have a row."""
        if rule not in FOR_GOOD:
            return True
        row = self._row(site)
        count = row.refused.get(rule, 0) + 1
        self._put(replace(row, refused={**row.refused, rule: count}))
        return count <= SAMPLE

    def _row(self, site: str) -> SiteRow:
        row = self._recent.pop(site, None) or self._rows.get(site) or SiteRow(site)
        self._recent[site] = row
        if len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return row

    def _put(self, row: SiteRow) -> None:
        self._recent[row.site] = row
        self._rows.put(row)
