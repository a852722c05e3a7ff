"""The steps by which a crawl takes several URLs for one page; each can be left out of a crawl.

`gossamer.web.url` undoes what the standards say makes no difference: that is the same everywhere,
for every crawl. These steps go by what servers are known to do, so they may be wrong somewhere, and
a crawl says which it wants (`crawl.url_steps`) when it begins: they stand in its definition, and
dedup, which all URLs pass, goes by them. Some need no proof (`STEPS`). Others hold at a host once
it has shown that they do (`HOST_STEPS`, and `services.dedup.merges`).

Each takes a canonical URL and returns one, or "" if the URL is not to be visited. They are repeated
until none changes anything, so the order of those that only merge makes no difference.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gossamer.errors import BadSettings
from gossamer.web.url import OURS, Step, canonicalize

SESSION_IDS = frozenset({"phpsessid", "jsessionid", "cfid", "cftoken"})
"""Parameters that can mean nothing else."""
PERHAPS_SESSION_IDS = frozenset(
    {"sid", "sessionid", "session_id", "sessid", "session", "oscsid", "zenid"}
)
"""Parameters that mean something else at some hosts."""
CLICKS = frozenset({
    "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "ymclid",
    "twclid", "ttclid", "li_fat_id", "igshid", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "mkt_tok",
    "_openstat", "vero_id", "oly_enc_id", "oly_anon_id",
})  # fmt: skip
"""Parameters by which advertisers and newsletters tell where a reader comes from, beside utm_*."""

_path_session = re.compile(
    r";(?:jsessionid|phpsessid|cfid|cftoken|aspsessionid[a-z]*)=[^;/?]*", re.IGNORECASE
)
_names_session_id = re.compile(
    r"[?&](?:phpsessid|jsessionid|cfid|cftoken|aspsessionid)", re.IGNORECASE
)
_names_tracking = re.compile(rf"[?&](?:utm_|{'|'.join(CLICKS)})", re.IGNORECASE)
_reordered = re.compile(r"/\?(?:[NMSD]=[AD]|C=[NMSD](?:[;&]O=[AD])?)(?:[;&][FVP]=[^;&]*)*$")
_DEFAULT = frozenset(
    {"index.html", "index.htm", "index.shtml", "index.shtm", "default.html", "default.htm"}
)
IN_A_ROW = 3
"""So often a component of a path stands in a row where a server makes paths up."""


class Merged(NamedTuple):
    """What a crawl knows a URL as, and the steps that did something about it."""

    url: str
    """"" if it is not to be visited."""
    steps: tuple[str, ...]


def merged(url: str, wanted: Iterable[str]) -> Merged:
    """Return what a canonical *url* is known as, by those of STEPS that are *wanted*."""
    chosen = _chosen(tuple(wanted))
    for _, apply in chosen:
        if apply(url) != url:
            return _changed(url, chosen)
    return Merged(url, ())


def _changed(url: str, chosen: Sequence[tuple[str, Callable[[str], str]]]) -> Merged:
    done, at = dict[str, None](), 0
    while url and at < len(chosen):
        name, apply = chosen[at]
        if (after := apply(url)) == url:
            at += 1
            continue
        # A step can uncover what another looks for, and what the standard would spell otherwise:
        # `/..;jsessionid=1`. What is dropped is told last, of what the others leave.
        url, at = after and canonicalize(after), 0
        done[name] = None
    return Merged(url, tuple(done))


@lru_cache(maxsize=64)
def _chosen(wanted: tuple[str, ...]) -> tuple[tuple[str, Callable[[str], str]], ...]:
    return tuple((name, step.apply) for name, step in STEPS.items() if name in wanted)


def without_session_id(url: str) -> str:
    """Drop what can only be a session identifier, from the query and from the path."""
    if ";" in url:
        path, mark, query = url.partition("?")
        url = _path_session.sub("", path) + mark + query
    return _without(url, _is_session_id) if "?" in url and _names_session_id.search(url) else url


def without_tracking(url: str) -> str:
    """Drop the parameters that say where a reader comes from."""
    return _without(url, _is_tracking) if "?" in url and _names_tracking.search(url) else url


def unsorted(url: str) -> str:
    """Return the directory whose listing *url* only sorts otherwise, as Apache does."""
    return url if "?" not in url else _reordered.sub("/", url)


def unless_repeated(url: str) -> str:
    """Return "" for a path that repeats itself: a relative link, followed again and again.

    Numbers may repeat: dates and tiles of maps do.
    """
    parts = url.partition("?")[0].split("/")[3:]
    if len(set(parts)) == len(parts):
        return url
    for at in range(len(parts) - 2):
        first, second, *rest = parts[at : at + 4]
        if not first or not second or (first.isdecimal() and second.isdecimal()):
            continue
        if [first, second] == rest[:2] or [first] * 2 == [second, rest[0]]:
            return ""
    return url


def without_default_document(url: str) -> str:
    """Return the directory of which *url* is the default document."""
    name = url[url.rfind("/") + 1 :]
    return url.removesuffix(name) if name.lower() in _DEFAULT and "?" not in url else url


def in_lower_case(url: str) -> str:
    """Return *url* with its path in lower case."""
    path, mark, query = url.partition("?")
    return url if path.islower() else canonicalize(path.lower() + mark + query)


def _is_session_id(name: str) -> bool:
    return name in SESSION_IDS or name.startswith("aspsessionid")


def _is_tracking(name: str) -> bool:
    return name.startswith("utm_") or name in CLICKS


def _without(url: str, is_dropped: Callable[[str], bool]) -> str:
    path, _, query = url.partition("?")
    parameters = query.split("&")
    kept = [one for one in parameters if not is_dropped(one.partition("=")[0].lower())]
    if len(kept) == len(parameters):
        return url
    return f"{path}?{'&'.join(kept)}" if kept else path


STEPS: dict[str, Step] = {
    "session_id": Step(
        without_session_id,
        "PHPSESSID, jsessionid, ASPSESSIONID*, CFID and CFTOKEN are dropped, as parameters of the "
        "query and as `;jsessionid=` in the path",
        "viuva-negra 2.1.3, practical-issues 8.1",
    ),
    "tracking": Step(
        without_tracking,
        "`utm_*`, `fbclid`, `gclid` and the like are dropped from the query",
        OURS,
    ),
    "directory_reorder": Step(
        unsorted,
        "a listing of a directory that is sorted otherwise (`/?C=M;O=A`, `/?N=D`) is the directory",
        "viuva-negra 2.1.4, 4.5",
    ),
    "repeated_path": Step(
        unless_repeated,
        "a path in which a component stands three times in a row, or a pair of them twice, is not "
        "visited; components that are numbers may repeat",
        "practical-issues 8.2",
    ),
}
"""By the name in `crawl.url_steps`; what is not visited is told last."""


def host_images(url: str, wanted: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each rule of a host that would make another URL of *url*, and that URL.

    A rule is named after its step, and after the parameter that it drops: `session_id sid`.
    """
    for name in wanted:
        match name:
            case "default_document":
                image = without_default_document(url)
            case "letter_case":
                image = in_lower_case(url)
            case "session_id":
                yield from _without_each(url)
                continue
            case _:
                continue
        if image != url:
            yield name, image


def _without_each(url: str) -> Iterator[tuple[str, str]]:
    if "?" not in url:
        return
    for one in url.partition("?")[2].split("&"):
        name = one.partition("=")[0].lower()
        if name in PERHAPS_SESSION_IDS:
            yield f"session_id {name}", _without(url, name.__eq__)


def host_image(url: str, rule: str) -> str:
    """Return what *url* becomes by *rule*; itself if the rule says nothing of it."""
    return dict(host_images(url, [rule.partition(" ")[0]])).get(rule, url)


HOST_STEPS: dict[str, tuple[str, str]] = {
    "default_document": (
        "`index.html`, `index.htm`, `index.shtml`, `default.html`, `default.htm` is its directory, "
        "unless the host was seen to have another document there",
        "viuva-negra 4.3",
    ),
    "session_id": (
        "`sid`, `sessionid`, `session_id`, `sessid`, `session`, `osCsid`, `zenid` are dropped at a "
        "host that gave the same text with and without it, for several texts",
        "viuva-negra 4.5",
    ),
    "letter_case": (
        "the path is taken in lower case at a host that gave the same text so, for several texts",
        OURS,
    ),
}
"""What a step does at a host, and its source, by the name in `crawl.url_steps`."""

ALL_STEPS = tuple(dict.fromkeys((*STEPS, *HOST_STEPS)))
"""The names that `crawl.url_steps` may have."""


def check_steps(names: Iterable[str]) -> None:
    """Raise BadSettings if one of *names* is no step."""
    if unknown := [name for name in names if name not in ALL_STEPS]:
        known = ", ".join(ALL_STEPS)
        raise BadSettings(f"crawl.url_steps: {unknown[0]!r} is no step; the steps are {known}")
