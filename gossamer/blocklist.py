"""The blocklist: what operators have said is never to be requested (hazard `blacklisted`).

A rule is a text whose form says what it is about, whatever the scheme:

    www.example.org               a host, on all of its ports
    www.example.org:8080          that port of it
    *.example.org                 a domain: the name itself, and all names below it
    example.org/private/*         all URLs that begin so
    example.org/a?b               one URL
    192.0.2.0/24, 2001:db8::/32   all hosts that have an address in it; an address alone is one, too

Which addresses a host has is known once it was resolved: what a network forbids the fetcher alone
can tell. All others go by the URL, and everybody does who passes one on.
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
"""What an address ends with. To look for one in each name would be most of the work."""
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def parse_rule(text: str) -> str:
    """Return the one spelling of the rule that a person means by *text*.

    Raise BadSettings, with what is wrong, if it is none.
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
            raise BadSettings(f"{text}: only http: and https: are visited anyhow")
        prefix = "/" in rest and rest.endswith("*")
        url = canonicalize(f"{scheme or 'https'}://{rest.removesuffix('*') if prefix else rest}")
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    authority, _, path = url.partition("://")[2].partition("/")
    if path or ("/" in rest and not prefix):
        rule = f"{authority}/{path}{'*' * prefix}"
        if _network(rule):
            raise _ambiguous(text, rule)
        if rule.endswith("*") and not prefix:
            raise BadSettings(f"{text}: a URL that ends with * cannot be a rule; drop the fragment")
        return rule
    return _network(authority.strip("[]")) or authority


def _ambiguous(text: str, rule: str) -> BadSettings:
    return BadSettings(f"{text}: a URL, or a network? {rule} is one, {rule}* is URLs")


def _network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return ""


def _name(text: str) -> str:
    url = canonicalize(f"http://{text}/")
    name = host_name(url)
    if url != f"http://{name}/" or ":" in text or is_address(name):
        raise BadSettings(f"*.{text}: a domain is a name alone, such as *.example.org")
    return name


def meaning(rule: str) -> str:
    """Return what *rule*, spelt as `parse_rule` does, is about, in words."""
    if _network(rule):
        return f"hosts with an address in {rule}"
    if rule.startswith("*."):
        return f"{rule[2:]} and all names below it"
    if rule.endswith("*"):
        return f"URLs that begin with {rule[:-1]}"
    return f"the URL {rule}" if "/" in rule else f"the host {rule}"


def forbidden_by(rule: str) -> str:
    """Return why nothing is asked that *rule* is about."""
    return f"blocklisted, by {rule}"


class Blocklist:
    """The rules in force, as far as they are known here."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.rules: dict[str, BlocklistChanged] = {}
        """By rule, what set it."""
        self._lifted: dict[str, int] = {}
        self.lifted = 0
        """Another number after a rule was lifted, of those that go by the URL; 0 while none is.
        Whoever has read the same has the same."""
        self._prefixes = defaultdict[str, set[str]](set)
        """By authority."""
        self._networks = defaultdict[tuple[int, int], set[int]](set)
        """By version and length, the bits of each prefix."""
        for event in events:
            if isinstance(event, BlocklistChanged):
                self.change(event)

    def change(self, event: BlocklistChanged) -> None:
        """Go by *event* from now on; raise Poison if its rule is none."""
        try:
            rule = parse_rule(event.rule)
        except BadSettings as error:
            raise Poison(str(error)) from error
        network = _network(rule)
        self.lifted ^= self._lifted.pop(rule, 0)
        if event.lifted:
            self.rules.pop(rule, None)
            if not network:
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
        """Return "in force", or a text that differs each time that *rule* is lifted."""
        return "in force" if rule in self.rules else f"lifted {self._lifted.get(rule, 0):x}"

    def of_url(self, url: str) -> str:
        """Return the rule that forbids a canonical *url*; "" if none does.

        A robots.txt may be asked for unless its whole host is forbidden: without it no page of the
        host could be visited.
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
        """Return the rule that forbids the whole host of a canonical *url*; "" if none does."""
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
        """Return the rule that forbids *address*; "" if none does."""
        bits, most = int(address), address.max_prefixlen
        for (version, length), prefixes in self._networks.items():
            if version == address.version and bits >> (most - length) in prefixes:
                return str(ip_network((address, length), strict=False))
        return ""
