"""Decides which addresses may be connected to (hazard `private_address`).

The tables are copied from IANA's special-purpose address registries (RFC 6890), so that the result
does not depend on the version of Python. An IPv6 address that embeds an IPv4 address is treated as
that IPv4 address. This holds for 6to4, for IPv4-mapped addresses and for every NAT64 prefix,
because a name server may answer with any of them.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from gossamer.blocklist import Blocklist

Address = IPv4Address | IPv6Address
_parse = lru_cache(maxsize=8192)(ip_address)
Network = IPv4Network | IPv6Network

NON_PUBLIC_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared by the customers of a provider; some clouds' metadata
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # in no registry: a cloud's own services, at a public address
            "169.254.0.0/16",  # link-local; most clouds' metadata
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # protocol assignments, its anycast services too; a cloud's metadata
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
GLOBAL_UNICAST_IPV6 = IPv6Network("2000::/3")
"""The allocated part of IPv6. Outside are loopback, unique local (also used by clouds' metadata),
link-local, site-local, multicast, discard-only and local translation addresses."""
NON_PUBLIC_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID and others
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
SIX_TO_FOUR = IPv6Network("2002::/16")
TRANSLATION_PREFIXES = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4-mapped addresses, and NAT64's well-known prefix."""
NAT64_PREFIX_LENGTHS = (32, 40, 48, 56, 64, 96)
"""Bits (RFC 6052, 2.2)."""
NAT64_NAME = "ipv4only.arpa"
"""A name with only IPv4 addresses. An IPv6 answer shows the NAT64 prefix (RFC 7050)."""
NAT64_ADDRESSES = (IPv4Address("192.0.0.170"), IPv4Address("192.0.0.171"))


def may_connect(
    address: str, allowed: Collection[Network], prefixes: Collection[IPv6Network] = ()
) -> bool:
    """Return whether *address*, an IP literal, is public or in an *allowed* network.

    *prefixes* are NAT64 prefixes of this network, beside the well-known one.
    """
    try:
        literal = _parse(address)
    except ValueError:
        return False
    embedded = _embedded_ipv4(literal, prefixes)
    if any(literal in network or embedded in network for network in allowed):
        return True
    return _is_public(embedded)


@lru_cache(maxsize=8192)
def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NON_PUBLIC_IPV4)
    return address in GLOBAL_UNICAST_IPV6 and not any(
        address in network for network in NON_PUBLIC_IPV6
    )


def find_blocklist_rule(
    address: str, blocklist: Blocklist, prefixes: Collection[IPv6Network] = ()
) -> str:
    """Return the rule of *blocklist* that forbids *address*, an IP literal; "" if none does."""
    literal = _parse(address)
    return blocklist.of_address(literal) or blocklist.of_address(_embedded_ipv4(literal, prefixes))


def nat64_prefixes(answer: Iterable[str]) -> tuple[IPv6Network, ...]:
    """Return the NAT64 prefixes in *answer*, addresses of `NAT64_NAME` (RFC 7050, section 3)."""
    found = (
        IPv6Network((address, length), strict=False)
        for address in map(IPv6Address, answer)
        for length in NAT64_PREFIX_LENGTHS
        if _extract_ipv4(address, length) in NAT64_ADDRESSES
    )
    return tuple(dict.fromkeys(found))


def _embedded_ipv4(address: Address, prefixes: Collection[IPv6Network]) -> Address:
    """Return the IPv4 address that *address* embeds, or *address*."""
    if isinstance(address, IPv4Address):
        return address
    if address in SIX_TO_FOUR:
        return IPv4Address(address.packed[2:6])
    for prefix in (*prefixes, *TRANSLATION_PREFIXES):
        if address in prefix:
            return _extract_ipv4(address, prefix.prefixlen)
    return address


def _extract_ipv4(address: IPv6Address, length: int) -> IPv4Address:
    # The IPv4 address follows the prefix, and skips the ninth octet (RFC 6052, 2.2).
    octets = [octet for at, octet in enumerate(address.packed) if at >= length // 8 and at != 8]
    return IPv4Address(bytes(octets[:4]))
