"""Cookies: those of one host are in its row, those of several hosts in the row of their site."""

from msgspec.structs import replace

from gossamer.web.cookies import Cookie, cookies_for, merge_cookies
from services.frontier.features.ended_visit import EndedVisit
from services.frontier.partition.partition import Partition
from services.frontier.tables.hosts import HostRow


def store_cookies(ended: EndedVisit, row: HostRow) -> HostRow:
    """Return *row* with the cookies that the visit has set for this host alone."""
    cookies, now = ended.event.cookies, ended.now
    shared = [cookie for cookie in cookies if cookie.whole_domain]
    of_host = [cookie for cookie in cookies if not cookie.whole_domain]
    ended.partition.sites.store_cookies(row.site, shared, now)
    return replace(row, cookies=merge_cookies(row.cookies, of_host, now))


def cookies_of_order(partition: Partition, row: HostRow, now: float) -> tuple[Cookie, ...]:
    """Return the cookies of a host and of its site for an order."""
    return cookies_for(row.host, (*row.cookies, *partition.sites.cookies(row.site)), now)
