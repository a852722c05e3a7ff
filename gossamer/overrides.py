"""Operators' overrides for sites and hosts. Those of a host take precedence."""

from msgspec.structs import replace

from gossamer.events import HostOverridden, SiteOverridden
from gossamer.web.url import Site, host_name, site_of_host

Overridden = SiteOverridden | HostOverridden
NOTHING = SiteOverridden(at=0.0, site=Site(""))


def overridden_site(event: Overridden) -> Site:
    """Return the site of *event*, or the site of its host."""
    return event.site if isinstance(event, SiteOverridden) else site_of_host(event.host)


class Overrides:
    """The overrides by site, and by the name of a host."""

    def __init__(self) -> None:
        self._sites: dict[Site, SiteOverridden] = {}
        self._hosts: dict[str, HostOverridden] = {}

    def change(self, event: Overridden) -> None:
        """Apply *event*."""
        if isinstance(event, SiteOverridden):
            self._sites[event.site] = event
        else:
            self._hosts[event.host] = event

    def of_site(self, site: Site) -> SiteOverridden:
        """Return the overrides of *site*, which apply to its hosts without overrides."""
        return self._sites.get(site, NOTHING)

    def of(self, site: Site, host: str) -> SiteOverridden:
        """Return the overrides of the host with the key *host* of *site*."""
        whole = self.of_site(site)
        own = self._hosts.get(host_name(host)) if self._hosts else None
        return merge_overrides(whole, own) if own else whole


def merge_overrides(whole: SiteOverridden, own: HostOverridden) -> SiteOverridden:
    """Return the site's overrides *whole* with the host's overrides *own* applied over them."""
    return replace(
        whole,
        delay=whole.delay if own.delay is None else own.delay,
        ours=whole.ours if own.delay is None else own.ours,
        off=whole.off if own.off is None else own.off,
        budget=whole.budget if own.budget is None else own.budget,
        certificate=whole.certificate if own.certificate is None else own.certificate,
    )
