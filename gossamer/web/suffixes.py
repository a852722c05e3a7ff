"""The public suffix list: a file of this package, pinned, because a site is a promise.

A site decides the partition of all that belongs to it: hosts, queues, delays, claims, the URLs that
were met. A list with one suffix more moves sites to other partitions, away from what is known of
them. So the list does not come with whatever version of a library is installed, and the version
that a crawl was begun with stands on its `control` topic and in its store: a process that has
another refuses to work on it (`gossamer.runtime.identity`).

The file is https://publicsuffix.org/list/public_suffix_list.dat as published, under the Mozilla
Public License 2.0. Whoever replaces it makes a release that cannot go on with older crawls.
"""

import re
from functools import cache
from importlib.resources import files

from publicsuffixlist import PublicSuffixList

_text = (files("gossamer.web") / "public_suffix_list.dat").read_text(encoding="utf-8")
_version = re.search(r"^// VERSION: (\S+)$", _text, re.MULTILINE)
assert _version, "the file names its version"

SUFFIX_LIST: str = _version[1]
"""The version of the list: when it was published, as its file says."""


def registrable_domain(name: str) -> str:
    """Return the registrable domain of a host *name*; "" if it is a public suffix itself."""
    return _suffixes().privatesuffix(name) or ""


@cache
def _suffixes() -> PublicSuffixList:
    rules = [line for line in _text.splitlines() if line and not line.startswith("//")]
    # The library would encode all ten thousand as IDNA, for which most of the time would go.
    encoded = [_encoded(rule) for rule in rules if not rule.isascii()]
    return PublicSuffixList(rules + encoded, accept_encoded_idn=False)


def _encoded(rule: str) -> str:
    """Return a *rule* of the list as names in ASCII have it; the list is in normal form."""
    mark, name = ("!", rule[1:]) if rule.startswith("!") else ("", rule)
    return mark + ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in name.split(".")
    )
