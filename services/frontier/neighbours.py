"""Neighbours: hosts of one name, or of one site, and which of them may be visited beside others.

A host here is a scheme, a name and a port, since robots.txt is about that (RFC 9309, 2.3). What
answers under one name is one server, whatever scheme or port it is asked at: it is visited by one
order at a time, and rests between two. And a site is one owner's, who notices what all of its hosts
are asked together: a few of them are checked out at once, also where their names have no end. All
hosts of a site have one frontier, so this needs no word with others (PolyBot, section 2.4).

All hosts that are checked out are in memory: a frontier that takes a partition over loads them
first (`TallyRow.checked_out`). How long a name rests is only in memory: a new owner begins all
rests anew.
"""

from msgspec.structs import replace

from gossamer.web.url import host_name
from services.frontier.conditions import Trigger
from services.frontier.hosts import Hosts
from services.frontier.schedule import Schedule
from services.frontier.workbench import Host


class Neighbours:
    """Which hosts must wait for others of their name or site."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._rests = Schedule()
        """Name → until when none of its hosts is visited."""

    def visited(self, host: str, rests_until: float, now: float) -> None:
        """The server of *host* was visited just now, and rests until then."""
        while (first := self._rests.first()) and first[0] <= now:
            self._rests.remove(first[1])
        self._rests.put(host_name(host), max(rests_until, self._rests.get(host_name(host))))

    def hold_back(self, host: Host, now: float) -> bool:
        """Let *host*, whose turn it is, wait if others are in its way; return whether it does."""
        row = host.row
        if gate := self._hosts.bench.in_the_way(host):
            self._hosts.bench.hold(host, gate)
            return True
        until = self._rests.get(host_name(row.host))
        if until <= now:
            return False
        self._hosts.update(host, replace(row, ready_at=until), Trigger.NAME_RESTS)
        return True
