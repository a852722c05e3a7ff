"""Serves the situations on loopback until its parent ends."""

import argparse
from ipaddress import IPv4Address
from pathlib import Path

from tests.synthweb import RunningWeb
from tests.synthweb.answers import NOTHING, Answer
from tests.synthweb.dns import Zone
from tests.synthweb.listening import Place, Served, serve_until_orphaned
from tests.synthweb.server import Head

from .situations import SITUATIONS

FIRST = IPv4Address("127.4.0.1")
ADDRESSES = {host: FIRST + number for number, host in enumerate(SITUATIONS)}


class ReportedWeb:
    """The answers of all hosts."""

    def respond(self, head: Head) -> Answer:
        """Return the answer to a request."""
        found = SITUATIONS[head.host].answers.get(head.target, NOTHING)
        return found if isinstance(found, Answer) else found(head)


class RunningReportedWeb(RunningWeb):
    """The situations, which a process of its own serves."""

    def __init__(self, record: Path | None = None) -> None:
        super().__init__([__name__], record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    given = parser.parse_args()
    packed = {host: address.packed for host, address in ADDRESSES.items()}

    def open_web(port: int) -> Served:
        seeds = [f"http://{host}:{port}/" for host in SITUATIONS]
        return Served(ReportedWeb(), Zone(packed.get, {"test"}.__contains__), seeds)

    addresses = [str(address) for address in ADDRESSES.values()]
    serve_until_orphaned(Place(given.record), addresses, open_web)


if __name__ == "__main__":
    main()
