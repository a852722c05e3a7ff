"""The SURT key of a URL: the sort-friendly form by which indexes of web archives are searched.

    http://www.Example.org/A/b/?y=2&x=1  →  org,example)/a/b?x=1&y=2

The Wayback Machine uses these keys (webarchive-commons, `WaybackURLKeyMaker`), and pywb and
cdxj-indexer compute them, too. A key has no scheme, user, `www.` or fragment. Path and query are
unescaped as often as possible and escaped once, in lower case; the query is sorted and has no
session ids.
Labels of IPv4 addresses are reversed like those of names, and `..` at the root is kept.
"""

import re
from urllib.parse import unquote_to_bytes

SCHEMES = {"http": "80", "https": "443"}
"""Scheme → default port."""
MAX_UNESCAPES = 100
"""Rounds of unescaping; each round that changes a text makes it shorter."""

_escaped = re.compile("%[0-9A-Fa-f]{2}")
_www = re.compile(r"^www\d*\.")
_url = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#@]*@)?"
    r"(?P<host>\[[^]]*\]|[^/?#:]*)(?::(?P<port>\d*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?",
    re.DOTALL,
)
_path_sessions = (
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$"),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$"),
)
_query_sessions = tuple(
    re.compile(r"^(.*)(?:" + name + r")(?:&(.*))?$")
    for name in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt_key(url: str) -> str:
    """Return the SURT key of *url*; a text without a host is its own key."""
    found = _url.match(url.strip())
    if found is None or not found["host"]:
        return url
    scheme, port = found["scheme"].lower(), found["port"] or ""
    host = _www.sub("", found["host"].lower().strip("[].").replace("..", "."))
    labels = [host] if ":" in host else host.split(".")[::-1]
    suffix = f":{port}" if port and port != SCHEMES.get(scheme) else ""
    key = ",".join(labels) + suffix + ")" + _path_key(found["path"])
    query = _query_key(found["query"] or "")
    return f"{key}?{query}" if query else key


def viewer_key(url: str) -> str:
    """Return the key by which ReplayWeb.page searches *url* in an index (warcio.js, `getSurt`).

    Unlike a SURT key, it has the escapes of the URL, its last slash, and all of its query.
    """
    found = _url.match(url)
    if found is None or found["scheme"].lower() not in SCHEMES:
        return url
    host = _www.sub("", found["host"].lower())
    port = f":{found['port']}" if found["port"] else ""
    key = f"{','.join(host.split('.')[::-1])}{port}){found['path'].lower()}"
    query = "&".join(sorted((found["query"] or "").lower().split("&")))
    return f"{key}?{query}" if query else key


def viewer_spellings(url: str) -> list[str]:
    """Return the spellings of the canonical *url* by which a browser may ask for it: pages link to
    escapes in lower case and to escaped tildes, and Chromium escapes a bar."""
    found = [url]
    for character, escape in (("|", "%7C"), ("~", "%7E")):
        found += [one.replace(character, escape) for one in found]
    found += [_escaped.sub(lambda escape: escape[0].lower(), one) for one in found]
    return list(dict.fromkeys(found))


def _path_key(path: str) -> str:
    segments = list[bytes]()
    for segment in _unescape(path).split(b"/")[1:]:
        if segment == b".." and segments:
            segments.pop()
        elif segment != b".":
            segments.append(segment)
    segments = [segment for segment in segments if segment]
    return _strip_session(_escape(b"/" + b"/".join(segments)), _path_sessions)


def _query_key(query: str) -> str:
    found = _strip_session(_escape(_unescape(query)), _query_sessions)
    pairs = (argument.partition("=") for argument in found.split("&"))
    return "&".join("".join(pair) for pair in sorted(pairs))


def _strip_session(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    for pattern in patterns:
        if match := pattern.match(text):
            text = match[1] + (match[2] or "")
    return text


def _unescape(text: str) -> bytes:
    found = text.encode("utf-8", "surrogateescape")
    for _ in range(MAX_UNESCAPES):
        shorter = unquote_to_bytes(found)
        if shorter == found:
            break
        found = shorter
    return found


def _escape(data: bytes) -> str:
    return "".join(
        chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" else f"%{byte:02x}"
        for byte in data.lower()
    )
