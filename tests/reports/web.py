"""The web of all situations, which `tests.synthweb` serves."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from tests.synthweb.answers import NOTHING, Answer
from tests.synthweb.server import Head, Served

from .situations import SITUATIONS

FIRST = IPv4Address("127.4.0.1")
"""The address of the first host; the other hosts have the following ones."""


@dataclass(frozen=True)
class ReportedWeb:
    """The answers of all hosts."""

    def open(self, port: int) -> Served:
        addresses = {host: FIRST + number for number, host in enumerate(SITUATIONS)}
        seeds = [f"http://{host}:{port}/" for host in SITUATIONS]
        return Served(respond, addresses, seeds)


def respond(head: Head) -> Answer:
    """Return the answer to a request."""
    found = SITUATIONS[head.host].answers.get(head.target, NOTHING)
    return found if isinstance(found, Answer) else found(head)
