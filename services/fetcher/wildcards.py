"""Domains in which any name resolves (hazard `dns_wildcard`): hosts without end that are one.

Whether a domain is one is found out with a name that nobody has, once, when a second host of it is
met: most domains have one host, and cost nothing.
"""

from collections import OrderedDict

from gossamer.web.url import is_address, site_of

PROBED = ""


class Wildcards:
    """What is known of domains: of *most* of them, those that were met last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._met: OrderedDict[str, str] = OrderedDict()
        """By domain, the host that was met, or that it has been probed."""

    def met(self, name: str) -> str:
        """Take in that *name* has an address; return its domain if that is to be probed now."""
        if is_address(name):
            return ""
        site = site_of(f"http://{name}/")
        first = self._met.setdefault(site, name)
        self._met.move_to_end(site)
        if len(self._met) > self._most:
            self._met.popitem(last=False)
        if first in (name, PROBED):
            return ""
        self._met[site] = PROBED
        return site
