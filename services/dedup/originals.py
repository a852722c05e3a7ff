"""Decides whether two hosts are one, and which of the two is the original.

Both decisions are pure functions of what the pages of the two hosts showed. `HEURISTICS` has the
five heuristics of viuva-negra (2.3) for the first, `EVIDENCE` the evidence for the second, in the
order of its strength.
"""

from collections.abc import Callable
from typing import NamedTuple

from gossamer.web.url import HostKey, host_name

HOME_WEIGHT = 3
"""The number of pages that a home page counts for: it describes the content of its host."""
MIN_WEIGHT = 10
"""Pages that two hosts must have in common: branches and shops of one template share a home page,
the terms and the imprint."""
MIN_ALIAS_WEIGHT = 2
"""Pages that two hosts must have in common if their names differ in `www.` only."""
MIN_ALIAS_SHARE = 0.8
"""Share of equal pages from which two such hosts are one, if their home pages are not equal."""

MIN_STATED_SHARE = 0.8
"""Share of pages that name the original, from which a host with seeds is its replica."""


class Comparison(NamedTuple):
    """The pages of a replica, compared with the pages under the same paths of its original."""

    has_equal_home: bool = False
    has_other_home: bool = False
    equal: int = 0
    """Equal pages with different texts, without the home page."""
    others: int = 0
    """Pages with another text at the original, or without a page there, without the home page."""
    stated: int = 0
    """Pages of the replica that name the page of the original as canonical, or redirect to it."""

    @property
    def weight(self) -> int:
        """The number of equal pages, with the weight of the home page. A page that also states that
        its original is elsewhere counts once more."""
        return self.equal + self.stated + HOME_WEIGHT * self.has_equal_home

    @property
    def share(self) -> float:
        """The share of equal pages among all compared pages, with the weight of the home page."""
        compared = self.weight + self.others + HOME_WEIGHT * self.has_other_home
        return self.weight / compared if compared else 0.0


def _has_share(min_share: float) -> Callable[[Comparison], bool]:
    return lambda pages: pages.weight >= MIN_WEIGHT and pages.share >= min_share


def states_original(pages: Comparison) -> bool:
    """Return whether four of five pages of the replica state that their original is elsewhere."""
    return pages.stated >= MIN_STATED_SHARE * (pages.equal + pages.others) > 0


HEURISTICS: dict[str, Callable[[Comparison], bool]] = {
    "none": lambda pages: False,
    "same_home": lambda pages: pages.has_equal_home,
    "same_home_and_1_doc": lambda pages: pages.has_equal_home and pages.equal > 0,
    "dups60": _has_share(0.6),
    "dups80": _has_share(0.8),
    "dups100": _has_share(1.0),
}
"""Value of the setting `dedup.duphost` → whether it proves that two hosts are one."""


def is_www_pair(one: str, other: str) -> bool:
    """Return whether the names of two hosts differ in `www.` only."""
    names = sorted((host_name(one), host_name(other)), key=len)
    return names[1] == f"www.{names[0]}"


def is_alias(pages: Comparison) -> bool:
    """Return whether two hosts are one whose names differ in `www.` only."""
    is_equal = pages.weight >= MIN_ALIAS_WEIGHT and pages.share >= MIN_ALIAS_SHARE
    return pages.has_equal_home or is_equal


class Claim(NamedTuple):
    """The evidence that one of two hosts is the original of the other."""

    host: HostKey
    canonical: int = 0
    """Pages of the other host that name the page under their path at this host as canonical."""
    redirects: int = 0
    """Permanent redirects from the other host to the same path of this host."""
    in_links: float | None = None
    """Estimated number of other sites that link to this host; None if it is not known."""
    first: int = 0
    """Pages that this host had before the other host."""

    @property
    def has_certificate(self) -> bool:
        """Whether a certificate proves the name. Hosts with an invalid one are not compared."""
        return self.host.startswith("https://")


class Evidence(NamedTuple):
    """A kind of evidence for the original among two hosts."""

    name: str
    favours: Callable[[Claim, Claim], bool]
    """Whether the first claim is stronger than the second."""
    replaces: bool = True
    """Whether the evidence replaces an original that is established."""


MIN_IN_LINKS = 3
"""Linking sites by which one host must exceed twice the linking sites of the other: the estimate of
a sketch has an error of a third."""


def _has_more_in_links(one: Claim, other: Claim) -> bool:
    if one.in_links is None or other.in_links is None:
        return False
    return one.in_links >= 2 * other.in_links + MIN_IN_LINKS


def _rank_of_name(host: HostKey) -> tuple[bool, int, str]:
    name = host_name(host)
    return name.startswith("www."), len(name), host


EVIDENCE = (
    Evidence("canonical", lambda one, other: one.canonical > 2 * other.canonical),
    Evidence("redirect", lambda one, other: one.redirects > 2 * other.redirects),
    Evidence(
        "certificate",
        lambda one, other: one.has_certificate and not other.has_certificate,
        replaces=False,
    ),
    Evidence("in-links", _has_more_in_links),
    # A host that had the pages first may have more pages than the other. A name alone does not
    # justify that all of them are visited again.
    Evidence("first", lambda one, other: one.first > 2 * other.first, replaces=False),
    Evidence(
        "name",
        lambda one, other: _rank_of_name(one.host) < _rank_of_name(other.host),
        replaces=False,
    ),
)
"""The evidence for the original, the strongest first. The first row that favours one of the hosts
decides."""


def choose_original(
    one: Claim, other: Claim, established: HostKey | None = None
) -> tuple[HostKey, str]:
    """Return the host that is the original, and the name of the evidence that decides.

    *established*: the host that is the original so far, if there is one.
    """
    for evidence in EVIDENCE:
        if established and not evidence.replaces:
            continue
        for claim, rival in ((one, other), (other, one)):
            if evidence.favours(claim, rival):
                return claim.host, evidence.name
    return established or min(one.host, other.host), "established"
