"""Who we say we are: always the truth, with a way to reach us (hazard `cloaking`)."""

import re
from importlib.metadata import version

from gossamer.errors import BadSettings
from gossamer.settings import FetcherSettings
from gossamer.web.coding import INFLATERS
from gossamer.web.http import Headers
from gossamer.web.robots import is_token
from gossamer.web.sniffing import HTML

CODINGS = ", ".join(coding for coding in INFLATERS if not coding.startswith("x-"))
"""Those that can be undone."""

_mailbox = re.compile(r"[\w.+=-]+@[A-Za-z0-9][A-Za-z0-9.-]*", re.ASCII)
_page = re.compile(r"https?://[\x21-\x27\x2a-\x3a\x3c-\x7e]+")


def check_contact(contact: str) -> None:
    """Raise BadSettings unless *contact* is an e-mail address or the URL of a page."""
    if _mailbox.fullmatch(contact) or _page.fullmatch(contact):
        return
    raise BadSettings(
        f"fetcher.contact: {contact!r} is neither an e-mail address nor a http(s) page; name one "
        "where a webmaster reaches you (--contact, GOSSAMER_FETCHER__CONTACT or the settings "
        "file): without one nothing is fetched"
    )


def accept(types: tuple[str, ...]) -> str:
    """Return the Accept header that says which *types* are wanted: HTML most of all, for links."""
    # RFC 9110, 12.5.1, knows no other pattern than a whole type of subtypes.
    ranges = [one for one in types if "*" not in one.removesuffix("/*")]
    wanted = [one if one in HTML else f"{one};q=0.8" for one in ranges]
    return ", ".join([*wanted, "*/*;q=0.1"])


def request_headers(settings: FetcherSettings) -> Headers:
    """Return the headers of every request; raise BadSettings if they would not say who we are."""
    check_contact(settings.contact)
    for name, value in (("product", settings.product), ("page", settings.page)):
        if not (is_token(value) if name == "product" else _page.fullmatch(value) or not value):
            raise BadSettings(f"fetcher.{name}: {value!r} cannot stand in a User-Agent")
    about = [text for text in (settings.page, settings.contact) if text]
    comment = "; ".join(f"+{text}" if _page.fullmatch(text) else text for text in about)
    named = (("User-Agent", f"{settings.product}/{version('gossamer')} ({comment})"),)
    # RFC 9110, 10.1.2: From is a mailbox.
    reached = (("From", settings.contact),) if _mailbox.fullmatch(settings.contact) else ()
    return (*named, *reached, ("Accept", accept(settings.types)), ("Accept-Encoding", CODINGS))
