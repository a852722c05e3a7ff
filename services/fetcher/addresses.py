"""Which addresses may be connected to (hazard `private_address`)."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network

_unicast = IPv6Network("2000::/3")
_translated = IPv6Network("64:ff9b::/96")
"""RFC 6052: the IPv4 Internet seen through NAT64."""


def may_connect(address: str, allowed: Collection[Network]) -> bool:
    """Whether *address*, an IP literal, is on the public Internet or in an *allowed* network."""
    try:
        literal = ip_address(address)
    except ValueError:
        return False
    meant = _meant(literal)
    if any(one in network for network in allowed for one in (literal, meant)):
        return True
    if isinstance(meant, IPv6Address) and meant not in _unicast:
        return False
    return meant.is_global and not meant.is_multicast


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that *address* stands for, if it is one of IPv6 that embeds one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _translated:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
