"""Cookies: those of all hosts, ports and schemes of a site are in the row of the site."""

from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.cookies import Cookie, cookies_for


def store_cookies(ended: EndedVisit, row: HostRow) -> HostRow:
    """Store the cookies that the visit has set, and return *row* unchanged."""
    ended.partition.sites.store_cookies(row.site, ended.event.cookies, ended.now)
    return row


def cookies_of_order(partition: Partition, row: HostRow, now: float) -> tuple[Cookie, ...]:
    """Return the cookies of a site that may be sent to a host."""
    return cookies_for(row.host, partition.sites.cookies(row.site), now)
