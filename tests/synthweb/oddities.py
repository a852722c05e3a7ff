"""The oddities as tables: the kinds under each option of a world, and their traits.

An odd page is at `/odd/NAME`. If a crawler should read it, it links to `/beyond/NAME`, to which
nothing else links, so that a missed page shows. If its links must not be followed, they lead to
`/lure/NAME`, which exists and must never be requested.
"""

from .page import Traits

CONDITIONS: dict[str, tuple[str, ...]] = {
    "robots": (
        "robots-prefix",
        "robots-pattern",
        "robots-group",
        "robots-moved",
        "robots-bom",
        "robots-closed",
        "robots-failing",
        "robots-denied",
        "robots-empty",
    ),
    "delays": ("robots-delay",),
    "broken": ("cut", "short", "overlong", "garbage", "empty"),
    "stuck": ("endless", "mute"),
    "silent": ("silent",),
    "refused": ("refused",),
    "unresolved": ("unresolved",),
}
"""Oddities of whole hosts. Hosts under `broken` and `stuck` have a sound "/" and only one page of
that kind, since a crawler may back off from such a host for long."""

UNREACHABLE = frozenset({"silent", "refused", "unresolved"})
FAULTS = frozenset(CONDITIONS["broken"] + CONDITIONS["stuck"])

FEATURES: dict[str, tuple[str, ...]] = {
    "redirects": ("301", "302", "307", "308", "away", "chain", "loop", "nowhere"),
    "errors": ("404", "410", "500", "403"),
    "retries": ("503", "429"),
    "transfers": ("slow", "chunked", "gzip"),
    "types": ("xhtml", "text", "png", "pdf"),
    "charsets": ("latin-1", "windows-1252", "shift_jis"),
    "nofollows": ("rel-nofollow", "meta-nofollow", "header-nofollow"),
    "markup": ("tags", "spellings", "base", "schemes"),
    "duplicates": ("copy",),
}
"""Additional pages of sound hosts, by the option with the fraction of hosts that have each of
them."""

TRAITS: dict[str, Traits] = {
    "404": Traits(404),
    "410": Traits(410),
    "500": Traits(500),
    "403": Traits(403),
    "503": Traits(first=503),
    "429": Traits(first=429),
    "slow": Traits(manner="slow"),
    "chunked": Traits(manner="chunked"),
    "gzip": Traits(manner="gzip"),
    "xhtml": Traits(type="application/xhtml+xml"),
    "text": Traits(type="text/plain"),
    "png": Traits(type="image/png"),
    "pdf": Traits(type="application/pdf"),
    "latin-1": Traits(charset="iso-8859-1"),
    "windows-1252": Traits(charset="windows-1252", declared="meta"),
    "shift_jis": Traits(charset="shift_jis"),
    "meta-nofollow": Traits(robots="meta"),
    "header-nofollow": Traits(robots="header"),
    "base": Traits(based=True),
}

REDIRECTS: dict[str, tuple[Traits, str | None]] = {
    "301": (Traits(301, relative=True), "/beyond/301"),
    "302": (Traits(302), "/beyond/302"),
    "307": (Traits(307, relative=True), "/beyond/307"),
    "308": (Traits(308), "/beyond/308"),
    "away": (Traits(302), "/beyond/away"),
    "chain": (Traits(301), "/odd/chain-2"),
    "chain-2": (Traits(302, relative=True), "/odd/chain-3"),
    "chain-3": (Traits(307), "/beyond/chain"),
    "loop": (Traits(302), "/odd/loop-2"),
    "loop-2": (Traits(302, relative=True), "/odd/loop"),
    "nowhere": (Traits(302), None),
}
"""The target of each redirect, on its own host except for "away"."""

TAGS = ("a", "area", "link", "iframe")
USUAL_TAGS = ("a", "a", "a", "a", "a", *TAGS)
OWN_SPELLINGS = ("absolute", "rooted", "relative", "dots", "fragment")
FAR_SPELLINGS = ("absolute", "odd-case", "schemeless", "fragment", "absolute-dots")
