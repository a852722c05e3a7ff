"""The public suffix list: a file of this package, pinned, because a site is a promise.

A site decides the partition of all that belongs to it: hosts, queues, delays, claims, the URLs that
were met. A list with one suffix more moves sites to other partitions, away from what is known of
them. So the list does not come with whatever version of a library is installed, and the version
that a crawl was begun with stands on its `control` topic and in its store: a process that has
another refuses to work on it (`gossamer.runtime.pinned`).

The file is https://publicsuffix.org/list/public_suffix_list.dat as published, under the Mozilla
Public License 2.0. Whoever replaces it makes a release that cannot go on with older crawls.
"""

import re
from importlib.resources import files

from publicsuffixlist import PublicSuffixList

_text = (files("gossamer.web") / "public_suffix_list.dat").read_text(encoding="utf-8")
_version = re.search(r"^// VERSION: (\S+)$", _text, re.MULTILINE)
assert _version, "the file names its version"

SUFFIX_LIST: str = _version[1]
"""The version of the list: when it was published, as its file says."""
_suffixes = PublicSuffixList(_text)


def registrable_domain(name: str) -> str:
    """Return the registrable domain of a host *name*; "" if it is a public suffix itself."""
    return _suffixes.privatesuffix(name) or ""
