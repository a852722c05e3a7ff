"""Steps that merge several URLs of one page. A crawl can choose its steps.

`gossamer.web.url` applies the equivalences of the standards, for every crawl. The steps of this
module depend on the usual behaviour of servers, so they may be wrong for some host. A crawl names
its steps (`crawl.url_steps`) in its definition, and dedup, which all URLs pass, applies them. Some
steps need no proof (`STEPS`). Others apply to a host after the host has proved them (`HOST_STEPS`,
and `gossamer.services.dedup.host_steps`).

Each step takes a canonical URL and returns one, or "" if the URL is not to be visited. Steps are
repeated until none changes the URL, so the order of steps that only merge makes no difference.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gossamer.errors import BadSettings
from gossamer.web.url import OWN_RULE, Step, canonicalize

SESSION_IDS = frozenset({"phpsessid", "jsessionid", "cfid", "cftoken"})
"""Query parameters that are always session identifiers."""
POSSIBLE_SESSION_IDS = frozenset(
    {"sid", "sessionid", "session_id", "sessid", "session", "oscsid", "zenid"}
)
"""Query parameters that are session identifiers at most hosts."""
TRACKING_PARAMETERS = frozenset({
    "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "ymclid",
    "twclid", "ttclid", "li_fat_id", "igshid", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "mkt_tok",
    "_openstat", "vero_id", "oly_enc_id", "oly_anon_id",
})  # fmt: skip
"""Query parameters of advertisers and newsletters that track a reader, beside utm_*."""

MAX_REPEATED_BLOCK = 24
"""The largest number of components in a block that is compared with the block before it."""
TOKEN = "*"
"""Replaces a random token in URLs that are compared."""
TOKEN_RULE = "session_id "
TOKEN_RULES = (f"{TOKEN_RULE}/", f"{TOKEN_RULE}?")
"""The beginnings of the names of rules about random tokens."""
TOKEN_STEPS = (TOKEN_RULE.strip(),)
"""The HOST_STEPS with such rules."""
MAX_TOKEN_LENGTH = 300
"""The length of a component or a value above which it is not examined for a token."""

_path_session = re.compile(
    r";(?:jsessionid|phpsessid|cfid|cftoken|aspsessionid[a-z]*)=[^;/?]*", re.IGNORECASE
)
_names_session_id = re.compile(
    r"[?&](?:phpsessid|jsessionid|cfid|cftoken|aspsessionid)", re.IGNORECASE
)
_names_tracking = re.compile(rf"[?&](?:utm_|{'|'.join(TRACKING_PARAMETERS)})", re.IGNORECASE)
_reordered = re.compile(r"/\?(?:[NMSD]=[AD]|C=[NMSD](?:[;&]O=[AD])?)(?:[;&][FVP]=[^;&]*)*$")
_alphanumeric_run = re.compile(r"(?<![0-9A-Za-z])(?=[A-Za-z]*[0-9])[0-9A-Za-z]{12,}")
"""Twelve letters and digits, with a digit."""
_class_change = re.compile(
    r"(?<=[0-9])(?=[A-Za-z])|(?<=[a-z])(?=[0-9A-Z])|(?<=[A-Z])(?=[0-9])|(?<=[A-Z])(?=[a-z])"
)
_DEFAULT = frozenset(
    {"index.html", "index.htm", "index.shtml", "index.shtm", "default.html", "default.htm"}
)


class MergedUrl(NamedTuple):
    """The merged URL of a crawl, and the steps that changed it."""

    url: str
    """"" if the URL is not to be visited."""
    steps: tuple[str, ...]


@lru_cache(maxsize=8192)
def merge_url(url: str, names: tuple[str, ...]) -> MergedUrl:
    """Apply the STEPS with these *names* to a canonical *url*.

    All pages of a site have its menu, so most URLs were merged lately.
    """
    chosen = _select_steps(names)
    for _, apply in chosen:
        if apply(url) != url:
            return _merge(url, chosen)
    return MergedUrl(url, ())


def _merge(url: str, chosen: Sequence[tuple[str, Callable[[str], str]]]) -> MergedUrl:
    applied, at = dict[str, None](), 0
    while url and at < len(chosen):
        name, apply = chosen[at]
        if (after := apply(url)) == url:
            at += 1
            continue
        # The result of a step may match another step, or need normalization: `/..;jsessionid=1`.
        # Steps that drop a URL are the last ones, so they see the result of the others.
        url, at = after and canonicalize(after), 0
        applied[name] = None
    return MergedUrl(url, tuple(applied))


@lru_cache(maxsize=64)
def _select_steps(names: tuple[str, ...]) -> tuple[tuple[str, Callable[[str], str]], ...]:
    return tuple((name, step.apply) for name, step in STEPS.items() if name in names)


def without_session_id(url: str) -> str:
    """Drop session identifiers from the query and the path."""
    if ";" in url:
        path, mark, query = url.partition("?")
        url = _path_session.sub("", path) + mark + query
    return _without(url, _is_session_id) if "?" in url and _names_session_id.search(url) else url


def without_tracking(url: str) -> str:
    """Drop tracking parameters from the query."""
    return _without(url, _is_tracking) if "?" in url and _names_tracking.search(url) else url


def without_sorting(url: str) -> str:
    """Return the directory if *url* only sorts its listing differently, as Apache does."""
    return url if "?" not in url else _reordered.sub("/", url)


def reject_repeated_path(url: str) -> str:
    """Return "" for a path that repeats itself, because a relative link was followed repeatedly.

    Components in a row that occur again directly after themselves are a repeated block. One
    component may occur twice (`/en/en/`), and numbers may repeat, as in dates and map tiles.
    """
    parts = url.partition("?")[0].split("/")[3:]
    words = [part for part in parts if part and not part.isdecimal()]
    if len(set(words)) == len(words):
        return url
    for length in range(1, min(len(parts) // 2, MAX_REPEATED_BLOCK) + 1):
        needed, equal, last_word = length * (2 if length == 1 else 1), 0, -1
        for at in range(length, len(parts)):
            part = parts[at]
            if not part or part != parts[at - length]:
                equal = 0
                continue
            equal += 1
            last_word = last_word if part.isdecimal() else at
            if equal >= needed and last_word > at - length:
                return ""
    return url


def without_default_document(url: str) -> str:
    """Return the directory if *url* is its default document."""
    name = url[url.rfind("/") + 1 :]
    return url.removesuffix(name) if name.lower() in _DEFAULT and "?" not in url else url


def in_lower_case(url: str) -> str:
    """Return *url* with its path in lower case."""
    path, mark, query = url.partition("?")
    return url if path.islower() else canonicalize(path.lower() + mark + query)


def _is_session_id(name: str) -> bool:
    return name in SESSION_IDS or name.startswith("aspsessionid")


def _is_tracking(name: str) -> bool:
    return name.startswith("utm_") or name in TRACKING_PARAMETERS


def _without(url: str, is_dropped: Callable[[str], bool]) -> str:
    path, _, query = url.partition("?")
    parameters = query.split("&")
    left = [one for one in parameters if not is_dropped(one.partition("=")[0].lower())]
    if len(left) == len(parameters):
        return url
    return f"{path}?{'&'.join(left)}" if left else path


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
        OWN_RULE,
    ),
    "directory_reorder": Step(
        without_sorting,
        "a directory listing that is sorted differently (`/?C=M;O=A`, `/?N=D`) is the directory",
        "viuva-negra 2.1.4, 4.5",
    ),
    "repeated_path": Step(
        reject_repeated_path,
        "a path that repeats a component three times in a row, or a block of several components "
        "twice, is not visited; components that are numbers may repeat",
        "practical-issues 8.2",
    ),
}
"""Name in `crawl.url_steps` → step. Steps that drop URLs are last."""


def rewrite_by_rules(url: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each rule of a host that would rewrite *url*, and the rewritten URL.

    *names* are the HOST_STEPS to try. The name of a rule is the name of its step, with the
    parameter that it drops: `session_id sid`. A rule about random tokens has a mark and the place
    of the token: the parameter (`session_id ?key`), or the number of the path's component
    (`session_id /0`). In its rewritten URL, TOKEN stands for the token.
    """
    for name in names:
        match name:
            case "default_document":
                rewritten = without_default_document(url)
            case "letter_case":
                rewritten = in_lower_case(url)
            case "session_id":
                yield from _without_each(url)
                yield from _with_token_at_each(url)
                continue
            case _:
                continue
        if rewritten != url:
            yield name, rewritten


def _without_each(url: str) -> Iterator[tuple[str, str]]:
    if "?" not in url:
        return
    for one in url.partition("?")[2].split("&"):
        name = one.partition("=")[0].lower()
        if name in POSSIBLE_SESSION_IDS:
            yield f"session_id {name}", _without(url, name.__eq__)


def _with_token_at_each(url: str) -> Iterator[tuple[str, str]]:
    if not _alphanumeric_run.search(url, url.find("/", 8)):
        return
    path, mark, query = url.partition("?")
    parts = path.split("/")
    for at, part in enumerate(parts[3:]):
        if is_token(part):
            tokenless = "/".join([*parts[: at + 3], TOKEN, *parts[at + 4 :]])
            yield f"{TOKEN_RULE}/{at}", tokenless + mark + query
    parameters = query.split("&")
    names = [parameter.partition("=")[0] for parameter in parameters]
    for at, parameter in enumerate(parameters):
        name, is_set, value = parameter.partition("=")
        # A rule names its parameter, so one that is repeated has no rule.
        if is_set and is_token(value) and names.count(name) == 1:
            others = "&".join([*parameters[:at], f"{name}={TOKEN}", *parameters[at + 1 :]])
            yield f"{TOKEN_RULE}?{name}", f"{path}?{others}"


def is_token(text: str) -> bool:
    """Return whether *text* looks random: its digits and letters alternate as often as in
    hexadecimal numbers and base 64, and more often than in words, dates and numbers."""
    if len(text) > MAX_TOKEN_LENGTH or text.startswith(TOKEN):
        return False
    return any(
        len(_class_change.findall(run)) >= len(run) // 4 for run in _alphanumeric_run.findall(text)
    )


def token_in(url: str, rule: str) -> str:
    """Return the token of *url* that *rule* is about; "" if it has none."""
    rewritten = rewrite_by_rule(url, rule)
    if rewritten == url:
        return ""
    before = _common_prefix(url, rewritten)
    return url[before : len(url) - (len(rewritten) - before - len(TOKEN))]


def _common_prefix(one: str, other: str) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def rewrite_by_rule(url: str, rule: str, token: str = TOKEN) -> str:
    """Return *url* rewritten by *rule*, or *url* if the rule does not apply. *token* takes the
    place of a random token."""
    rewritten = dict(rewrite_by_rules(url, [rule.partition(" ")[0]])).get(rule, url)
    if token == TOKEN or rewritten == url or not rule.startswith(TOKEN_RULES):
        return rewritten
    at = _common_prefix(url, rewritten)
    return rewritten[:at] + token + rewritten[at + len(TOKEN) :]


HOST_STEPS: dict[str, tuple[str, str]] = {
    "default_document": (
        "`index.html`, `index.htm`, `index.shtml`, `default.html`, `default.htm` is its directory, "
        "unless the host has shown another document there",
        "viuva-negra 4.3",
    ),
    "session_id": (
        "`sid`, `sessionid`, `session_id`, `sessid`, `session`, `osCsid`, `zenid` are dropped at a "
        "host that returned the same text with and without the parameter, for several texts. A "
        "random token, in a parameter of any name or in a component of the path, is replaced by "
        "one token at a host that returned the same text with different tokens, for several texts",
        "viuva-negra 4.5; practical-issues 8.1",
    ),
    "letter_case": (
        "the path is in lower case at a host that returned the same text in both cases, for "
        "several texts",
        OWN_RULE,
    ),
}
"""Name in `crawl.url_steps` → description of the step at a host, and its source."""

ALL_STEPS = tuple(dict.fromkeys((*STEPS, *HOST_STEPS)))
"""The names that `crawl.url_steps` may have."""


def check_steps(names: Iterable[str]) -> None:
    """Raise BadSettings if one of *names* is not a step."""
    if unknown := [name for name in names if name not in ALL_STEPS]:
        choices = ", ".join(ALL_STEPS)
        raise BadSettings(f"crawl.url_steps: unknown step {unknown[0]!r}; choose from {choices}")
