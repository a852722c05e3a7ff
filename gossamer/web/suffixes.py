"""The public suffix list: a pinned file of this package.

A site determines the partition of its hosts, queues, delays, claims and seen URLs. A list with one
more suffix would move sites to other partitions, away from their state. So the list does not depend
on the installed version of a library. The version that a crawl was begun with is in its `control`
topic and in its store, and a process with another version refuses to work on the crawl
(`gossamer.runtime.identity`).

The file is https://publicsuffix.org/list/public_suffix_list.dat as published, under the Mozilla
Public License 2.0. A release with another file cannot continue older crawls.
"""

import re
from functools import cache
from importlib.resources import files

from publicsuffixlist import PublicSuffixList

_text = (files("gossamer.web") / "public_suffix_list.dat").read_text(encoding="utf-8")
_version = re.search(r"^// VERSION: (\S+)$", _text, re.MULTILINE)
assert _version, "the file has no version"

SUFFIX_LIST: str = _version[1]
"""The version of the list: the date of publication in its file."""


def registrable_domain(name: str) -> str:
    """Return the registrable domain of a host *name*; "" if it is a public suffix itself."""
    return _suffixes().privatesuffix(name) or ""


@cache
def _suffixes() -> PublicSuffixList:
    rules = [line for line in _text.splitlines() if line and not line.startswith("//")]
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
