"""The blocklist: URLs, hosts and networks that must never be requested (hazard `blacklisted`).

The form of a rule determines its subject, whatever the scheme:

    www.example.org               a host, on all of its ports
    www.example.org:8080          one port of a host
    *.example.org                 a domain: the name itself, and all names below it
    example.org/private/*         all URLs with this prefix
    example.org/a?b               one URL
    192.0.2.0/24, 2001:db8::/32   all hosts with an address in a network, or one address

The addresses of a named host are known only after its resolution, so only the fetcher checks them
against rules of networks. Every service that passes a URL on checks all other rules, and those of
networks if the host is an address.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from gossamer.errors import BadSettings, Poison
from gossamer.events import BlocklistChanged, Event
from gossamer.web.url import BadUrl, canonicalize, host_name, is_address

ROBOTS = "/robots.txt"
DIGITS = frozenset("0123456789]")
"""Last characters of addresses. Other names are not parsed as addresses, which would be slow."""
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def parse_rule(text: str) -> str:
    """Return the canonical form of the typed rule *text*.

    Raise BadSettings with the reason if it is invalid.
    """
    found = _scheme.match(text.strip())
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text.strip())
    try:
        if network := _network(rest):
            if scheme and "/" in rest:
                raise _ambiguous(text, rest)
            return network
        if rest.startswith("*.") and "/" not in rest:
            return f"*.{_name(rest[2:])}"
        if scheme not in ("", "http", "https"):
            raise BadSettings(f"{text}: only http: and https: URLs are ever visited")
        prefix = "/" in rest and rest.endswith("*")
        url = canonicalize(f"{scheme or 'https'}://{rest.removesuffix('*') if prefix else rest}")
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    authority, _, path = url.partition("://")[2].partition("/")
    if "*" in authority:
        raise BadSettings(
            f"{text}: * stands for any name in *.example.org, and for any end in "
            "example.org/private/*, alone. gossamer speed 0 stops all requests"
        )
    if path or ("/" in rest and not prefix):
        rule = f"{authority}/{path}{'*' * prefix}"
        if _network(rule):
            raise _ambiguous(text, rule)
        if rule.endswith("*") and not prefix:
            raise BadSettings(f"{text}: a URL that ends with * cannot be a rule; drop the fragment")
        return rule
    return _network(authority.strip("[]")) or authority


def _ambiguous(text: str, rule: str) -> BadSettings:
    return BadSettings(f"{text}: ambiguous: write {rule} for a network, or {rule}* for URLs")


def _network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return ""


def _name(text: str) -> str:
    url = canonicalize(f"http://{text}/")
    name = host_name(url)
    if url != f"http://{name}/" or ":" in text or "*" in text or is_address(name):
        raise BadSettings(f"*.{text}: a domain must be a name, such as *.example.org")
    return name


def describe_rule(rule: str) -> str:
    """Return the subject of a canonical *rule* in words."""
    if _network(rule):
        return f"hosts with an address in {rule}"
    if rule.startswith("*."):
        return f"{rule[2:]} and all names below it"
    if rule.endswith("*"):
        return f"URLs that begin with {rule[:-1]}"
    return f"the URL {rule}" if "/" in rule else f"the host {rule}"


def forbidden_by(rule: str) -> str:
    """Return the reason for not requesting the subject of *rule*."""
    return f"blocklisted, by {rule}"


class Blocklist:
    """The active rules that this process has read."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.rules: dict[str, BlocklistChanged] = {}
        """Rule → the event that set it."""
        self._lifted: dict[str, int] = {}
        self.lifted = 0
        """A number that changes when a rule is lifted, or a lifted one is set again. It is 0
        without lifted rules. Processes that have read the same events compute the same number."""
        self._prefixes = defaultdict[str, set[str]](set)
        """Authority → forbidden prefixes of URLs."""
        self._networks = defaultdict[tuple[int, int], set[int]](set)
        """IP version and prefix length → the bits of each forbidden network."""
        for event in events:
            if isinstance(event, BlocklistChanged):
                self.change(event)

    def change(self, event: BlocklistChanged) -> None:
        """Apply *event*. Raise Poison if its rule is invalid."""
        try:
            rule = parse_rule(event.rule)
        except BadSettings as error:
            raise Poison(str(error)) from error
        network = _network(rule)
        self.lifted ^= self._lifted.pop(rule, 0)
        if event.lifted:
            self.rules.pop(rule, None)
            digest = blake2b(f"{rule} {event.at}".encode(), digest_size=8).digest()
            self._lifted[rule] = int.from_bytes(digest)
            self.lifted ^= self._lifted[rule]
        else:
            self.rules[rule] = event
        if network:
            self._change_network(rule, event.lifted)
        elif rule.endswith("*"):
            change = set.discard if event.lifted else set.add
            change(self._prefixes[rule.partition("/")[0]], rule[:-1])

    def _change_network(self, rule: str, lifted: bool) -> None:
        network = ip_network(rule)
        at = network.version, network.prefixlen
        bits = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
        (set.discard if lifted else set.add)(self._networks[at], bits)

    def state_of(self, rule: str) -> str:
        """Return "in force", or a text that changes each time *rule* is lifted."""
        return "in force" if rule in self.rules else f"lifted {self._lifted.get(rule, 0):x}"

    def of_url(self, url: str) -> str:
        """Return the rule that forbids a canonical *url*, or "".

        A robots.txt may be requested unless its whole host is forbidden, because no page of the
        host could be visited without it.
        """
        if not self.rules:
            return ""
        rest = url.partition("://")[2]
        authority, _, path = rest.partition("/")
        rule = self.of_host(url)
        if rule or f"/{path}" == ROBOTS:
            return rule
        if rest in self.rules:
            return rest
        prefixes = self._prefixes.get(authority, ())
        return next((f"{prefix}*" for prefix in prefixes if rest.startswith(prefix)), "")

    def of_host(self, url: str) -> str:
        """Return the rule that forbids the whole host of a canonical *url*, or ""."""
        name, authority = host_name(url), url.split("/", 3)[2]
        for rule in (name, authority):
            if rule in self.rules:
                return rule
        if name[-1] in DIGITS and is_address(name):
            return self.of_address(ip_address(name.strip("[]")))
        while name:
            if (rule := f"*.{name}") in self.rules:
                return rule
            name = name.partition(".")[2]
        return ""

    def of_address(self, address: IPv4Address | IPv6Address) -> str:
        """Return the rule that forbids *address*, or ""."""
        bits, width = int(address), address.max_prefixlen
        for (version, length), prefixes in self._networks.items():
            if version == address.version and bits >> (width - length) in prefixes:
                return str(ip_network((address, length), strict=False))
        return ""
