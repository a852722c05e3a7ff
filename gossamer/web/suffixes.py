"""The Public Suffix List that determines the sites.

A site determines the partition of its hosts, queues, delays, claims and seen URLs. A list with one
more suffix would move sites to other partitions, away from their state. So a crawl keeps the list
that it was begun with: its rules are stated on the `control` topic and in the store, and every
process uses them before it computes a site of the crawl (`gossamer.runtime.identity`).

A new crawl begins with the list of this package. The file is
https://publicsuffix.org/list/public_suffix_list.dat as published, under the Mozilla Public License
2.0. It does not depend on the installed version of a library.
"""

import re
import zlib
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct
from publicsuffixlist import PublicSuffixList

MAX_BYTES = 8 << 20
"""Maximum size of the rules of a stored list. The published file has 330 kB."""


class SuffixList(Struct, frozen=True):
    """A Public Suffix List."""

    version: str
    """The time of publication in its file."""
    packed: bytes
    """The rules, one a line, compressed by zlib."""


@cache
def packaged_list() -> SuffixList:
    """Return the list of this package."""
    text = (files("gossamer.web") / "public_suffix_list.dat").read_text(encoding="utf-8")
    version = re.search(r"^// VERSION: (\S+)$", text, re.MULTILINE)
    assert version, "the file has no version"
    rules = [line for line in text.splitlines() if line and not line.startswith("//")]
    return SuffixList(version[1], zlib.compress("\n".join(rules).encode(), 9))


_used: SuffixList | None = None


def used_list() -> SuffixList:
    """Return the list that sites are computed with in this process."""
    return _used or packaged_list()


def use_list(found: SuffixList) -> None:
    """Compute sites with the list *found* in this process from now on."""
    global _used
    _used = found
    _suffixes.cache_clear()
    registrable_domain.cache_clear()


@lru_cache(maxsize=65536)
def registrable_domain(name: str) -> str:
    """Return the registrable domain of a host *name*; "" if it is a public suffix itself."""
    return _suffixes().privatesuffix(name) or ""


@cache
def _suffixes() -> PublicSuffixList:
    text = zlib.decompressobj().decompress(used_list().packed, MAX_BYTES)
    rules = text.decode().splitlines()
    # The library would encode all ten thousand rules as IDNA, which would take most of the time.
    encoded = [_encode(rule) for rule in rules if not rule.isascii()]
    return PublicSuffixList(rules + encoded, accept_encoded_idn=False)


def _encode(rule: str) -> str:
    """Return a *rule* of the list in ASCII (Punycode). The list is already normalized."""
    mark, name = ("!", rule[1:]) if rule.startswith("!") else ("", rule)
    return mark + ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in name.split(".")
    )
