"""Neighbours: hosts of one name, or of one site, and which of them may be visited beside others.

A host here is a scheme, a name and a port, since robots.txt is about that (RFC 9309, 2.3). What
answers under one name is one server, whatever scheme or port it is asked at: it is visited by one
order at a time, and rests between two. And a site is one owner's, who notices what all of its hosts
are asked together: a few of them are checked out at once, also where their names have no end. All
hosts of a site have one frontier, so this needs no word with others (PolyBot, section 2.4).

Who is checked out is in the hosts' rows alone. Before a frontier orders from a site for the first
time it reads which of its hosts an earlier owner has ordered. How long a name rests is only in
memory: who takes over begins all rests anew.
"""

from msgspec.structs import replace

from gossamer.web.url import host_name
from services.frontier.conditions import Trigger
from services.frontier.hosts import Hosts
from services.frontier.loading import Loading
from services.frontier.schedule import Schedule
from services.frontier.workbench import Host

REMEMBERED = 100_000
"""Sites of which is known who is checked out."""
LOOKS = 5
"""Sites of which that is found out in one step of the log, which a slow store makes long."""


class Neighbours:
    """Which hosts must wait for others of their name or site."""

    def __init__(self, hosts: Hosts, loading: Loading) -> None:
        self._hosts, self._loading = hosts, loading
        self._rests = Schedule()
        """Name → until when none of its hosts is visited."""
        self._known = set[str]()
        """Sites of whose hosts all that are checked out are in memory."""

    def forget(self) -> None:
        """Look anew who is checked out: others may have ordered meanwhile."""
        self._known.clear()

    def knows(self, site: str) -> bool:
        """Return whether all hosts of *site* that are checked out are in memory."""
        if site not in self._known and self._hosts.sites.hosts(site) <= 1:
            self._remember(site)
        return site in self._known

    def find(self, site: str, now: float) -> None:
        """Have all hosts of *site* in memory that are checked out."""
        self._remember(site)
        self._loading.find_checked_out(site, now)

    def _remember(self, site: str) -> None:
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known.add(site)

    def visited(self, host: str, rests_until: float, now: float) -> None:
        """The server of *host* was visited just now, and rests until then."""
        while (first := self._rests.first()) and first[0] <= now:
            self._rests.remove(first[1])
        self._rests.put(host_name(host), max(rests_until, self._rests.get(host_name(host))))

    def hold_back(self, host: Host, now: float) -> bool:
        """Let *host*, whose turn it is, wait if others are in its way; return whether it does.

        It must be known who is checked out of its site.
        """
        row = host.row
        if gate := self._hosts.bench.in_the_way(host):
            self._hosts.bench.hold(host, gate)
            return True
        until = self._rests.get(host_name(row.host))
        if until <= now:
            return False
        self._hosts.update(host, replace(row, ready_at=until), Trigger.NAME_RESTS)
        return True
