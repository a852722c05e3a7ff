"""A web of consent for a test: a process of its own, its truth and its record."""

from functools import cached_property
from pathlib import Path

from tests.synthweb import RunningWeb

from .measure import Conduct, conduct_of
from .web import ConsentWeb, Hosts


class RunningConsent(RunningWeb):
    """A running web of consent."""

    def __init__(self, web: ConsentWeb, record: Path | None = None) -> None:
        super().__init__(["tests.consent", *web.flags()], record)
        self.web = web

    @cached_property
    def hosts(self) -> Hosts:
        """Return the web without its process: answers and truth."""
        return Hosts(self.web, self.port)

    def conduct(self) -> Conduct:
        """Evaluate all finished requests."""
        return conduct_of(self.requests(), self.hosts)
