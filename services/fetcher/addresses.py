"""Which addresses may be connected to (hazard `private_address`).

The tables are our own, from IANA's special-purpose address registries (RFC 6890), so that every
Python judges alike. An IPv6 address that stands for one of IPv4 is judged as that one, whoever
translates: a name server may answer with any.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from gossamer.blocklist import Blocklist

Address = IPv4Address | IPv6Address
_parsed = lru_cache(maxsize=8192)(ip_address)
Network = IPv4Network | IPv6Network

NOT_THE_WEB = tuple(
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
            "192.88.99.0/24",  # 6to4 relays, which are no more
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
UNICAST = IPv6Network("2000::/3")
"""All of IPv6 that is given out; beyond are loopback, unique local (clouds' metadata, too),
link-local, site-local, multicast, discarded and local translations."""
NOT_THE_WEB_6 = tuple(
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
TRANSLATED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4-mapped addresses, and NAT64's well-known prefix."""
PREFIX_LENGTHS = (32, 40, 48, 56, 64, 96)
"""Of NAT64 (RFC 6052, 2.2)."""
NAT64_NAME = "ipv4only.arpa"
"""Has only these IPv4 addresses: who has an IPv6 address for it is told a prefix (RFC 7050)."""
NAT64_ADDRESSES = (IPv4Address("192.0.0.170"), IPv4Address("192.0.0.171"))


def may_connect(
    address: str, allowed: Collection[Network], prefixes: Collection[IPv6Network] = ()
) -> bool:
    """Whether *address*, an IP literal, is on the public Internet or in an *allowed* network.

    *prefixes* are those of NAT64 that are known beside the well-known one.
    """
    try:
        literal = _parsed(address)
    except ValueError:
        return False
    meant = _meant(literal, prefixes)
    if any(one in network for network in allowed for one in (literal, meant)):
        return True
    return _of_the_web(meant)


@lru_cache(maxsize=8192)
def _of_the_web(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_THE_WEB)
    return address in UNICAST and not any(address in network for network in NOT_THE_WEB_6)


def forbidding(address: str, blocklist: Blocklist, prefixes: Collection[IPv6Network] = ()) -> str:
    """Return the rule of *blocklist* that forbids *address*, an IP literal; "" if none does."""
    literal = _parsed(address)
    return blocklist.of_address(literal) or blocklist.of_address(_meant(literal, prefixes))


def nat64_prefixes(answer: Iterable[str]) -> tuple[IPv6Network, ...]:
    """Return the prefixes that the IPv6 addresses of `NAT64_NAME` show (RFC 7050, section 3)."""
    found = (
        IPv6Network((address, length), strict=False)
        for address in map(IPv6Address, answer)
        for length in PREFIX_LENGTHS
        if _embedded(address, length) in NAT64_ADDRESSES
    )
    return tuple(dict.fromkeys(found))


def _meant(address: Address, prefixes: Collection[IPv6Network]) -> Address:
    """Return the IPv4 address that *address* stands for, if it is one of IPv6 that embeds one."""
    if isinstance(address, IPv4Address):
        return address
    if address in SIX_TO_FOUR:
        return IPv4Address(address.packed[2:6])
    for prefix in (*prefixes, *TRANSLATED):
        if address in prefix:
            return _embedded(address, prefix.prefixlen)
    return address


def _embedded(address: IPv6Address, length: int) -> IPv4Address:
    # RFC 6052, 2.2: behind the prefix, but never in the ninth octet.
    octets = [octet for at, octet in enumerate(address.packed) if at >= length // 8 and at != 8]
    return IPv4Address(bytes(octets[:4]))
