"""A web of traps for a test: a process of its own, its truth and its record."""

from functools import cached_property
from pathlib import Path

from tests.synthweb import RunningWeb

from .measure import Harvest, harvest_of, harvests_of
from .web import Sites, TrapWeb


class RunningTraps(RunningWeb):
    """A running web of traps."""

    def __init__(self, web: TrapWeb, record: Path | None = None) -> None:
        super().__init__(["tests.traps", *web.flags()], record)
        self.web = web

    @cached_property
    def sites(self) -> Sites:
        """Return the web without its process: pages and truth."""
        return Sites(self.web, self.port)

    def harvest(self) -> Harvest:
        """Evaluate all finished requests."""
        return harvest_of(self.requests(), self.sites)

    def harvests(self) -> dict[str, Harvest]:
        """Evaluate all finished requests to each site with a trap."""
        return harvests_of(self.requests(), self.sites)
