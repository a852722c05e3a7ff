"""Usage statements as sites write them, each with its meaning, which was written by hand.

Each form is one statement of one source, complete as the source has it: a whole robots.txt, a set
of headers, elements of a head, a tdmrep.json, a license file. Its meaning is known for the home
page and for the page under `/works/`. Nothing here reads a statement, so that an error of a reader
cannot become the expected result.

References: draft-ietf-aipref-attach-04, draft-ietf-aipref-vocab-06, contentsignals.org, the TDM
Reservation Protocol (final report of 10 May 2024), RSL 1.0, and for robots directives the
documentation of Google (noindex, nosnippet), Bing (noarchive) and DeviantArt (noai).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .truth import Says

HOME, WORKS = "/", "/works/one.html"
PATHS = (HOME, WORKS)
"""The pages of each host."""
OPEN = "User-agent: *\nDisallow:\n"


@dataclass(frozen=True)
class Form:
    """A statement of one source, and its meaning."""

    text: str = ""
    """The body of a file, or the elements of a head; empty for headers."""
    headers: Mapping[str, str] = field(default_factory=dict)
    home: Says = field(default_factory=dict)
    """Category → whether the statement allows it, for the home page."""
    works: Says | None = None
    """The meaning for the page under `/works/`; None if it is that for the home page."""

    def says(self, path: str) -> Says:
        return self.works if path == WORKS and self.works is not None else self.home


ABSENT = ""
"""The name of the form that is missing: no file, no header, no element."""


def _lines(*lines: str) -> str:
    return "\n".join(("User-agent: *", "Allow: /", *lines, ""))


def _robots(*lines: str, home: Says | None = None, works: Says | None = None) -> Form:
    return Form(_lines(*lines), home=home or {}, works=works)


NO_TRAINING: Says = {"train-ai": False}
TRAINING: Says = {"train-ai": True}
NO_MINING: Says = {"train-ai": False, "ai-input": False}
MINING: Says = {"train-ai": True, "ai-input": True}
NO_SEARCH: Says = {"search": False}
SEARCH: Says = {"search": True}
NO_ARCHIVE: Says = {"archive": False}
NO_INPUT: Says = {"ai-input": False}
NOTHING: Says = {"search": False, "archive": False, "train-ai": False, "ai-input": False}
SEARCH_ONLY: Says = {"search": True, "ai-input": False, "train-ai": False}

ROBOTS: Mapping[str, Form] = {
    ABSENT: Form(),
    "silent": Form(OPEN),
    "usage no": _robots("Content-Usage: train-ai=n", home=NO_TRAINING),
    "usage yes": _robots("Content-Usage: train-ai=y, search=y", home=TRAINING | SEARCH),
    "usage mixed": _robots("Content-Usage: train-ai=n, search=y", home=NO_TRAINING | SEARCH),
    "usage no search": _robots("Content-Usage: / search=n", home=NO_SEARCH),
    "usage by path": _robots(
        "Content-Usage: / train-ai=n",
        "Content-Usage: /works/ train-ai=y",
        home=NO_TRAINING,
        works=TRAINING,
    ),
    "usage of one path": _robots("Content-Usage: /works/ train-ai=n", works=NO_TRAINING),
    # The longest path gives all preferences: the shorter rule says nothing about /works/.
    "usage longest path": _robots(
        "Content-Usage: /works/ search=y",
        "Content-Usage: / train-ai=n",
        home=NO_TRAINING,
        works=SEARCH,
    ),
    "usage of a pattern": _robots("Content-Usage: /*.html$ train-ai=n", works=NO_TRAINING),
    # Conflicting preferences for one path apply separately, and the most restrictive one wins.
    "usage contradicts itself": _robots(
        "Content-Usage: / train-ai=n, search=y",
        "Content-Usage: / train-ai=y",
        home=NO_TRAINING | SEARCH,
    ),
    "usage twice": _robots(
        "Content-Usage: train-ai=n", "Content-Usage: search=y", home=NO_TRAINING | SEARCH
    ),
    # In one dictionary the last value of a key counts.
    "usage repeated key": _robots("Content-Usage: train-ai=n, train-ai=y", home=TRAINING),
    "usage with parameters": _robots("Content-Usage: train-ai=n;why=law", home=NO_TRAINING),
    "usage with comment": _robots("content-usage:train-ai=n # for now", home=NO_TRAINING),
    "usage unknown labels": _robots("Content-Usage: bots=n, x-poems=y"),
    "usage no tokens": _robots('Content-Usage: train-ai, search="n"'),
    "usage other tokens": _robots("Content-Usage: train-ai=no, search=maybe"),
    # Only "/" starts a path. As a dictionary the value is malformed.
    "usage star": _robots("Content-Usage: *x train-ai=n"),
    "usage no comma": _robots("Content-Usage: train-ai=n search=n"),
    "usage open end": _robots("Content-Usage: train-ai=n,"),
    "usage upper case": _robots("Content-Usage: Train-AI=n"),
    "usage path alone": _robots("Content-Usage: /"),
    "signal no": _robots("Content-Signal: ai-train=no", home=NO_TRAINING),
    "signal search only": _robots(
        "Content-Signal: search=yes, ai-input=no, ai-train=no", home=SEARCH_ONLY
    ),
    "signal all": _robots(
        "Content-Signal: ai-train=yes, search=yes, ai-input=yes", home=MINING | SEARCH
    ),
    "signal by path": _robots("Content-Signal: /works/ ai-input=no", works=NO_INPUT),
    "signal unknown": _robots("Content-Signal: ai-train=perhaps, poems=no"),
    "usage and signal": _robots(
        "Content-Usage: train-ai=y", "Content-Signal: ai-train=no", home=NO_TRAINING
    ),
    "usage and signal agree": _robots(
        "Content-Usage: train-ai=n", "Content-Signal: ai-train=no, ai-input=no", home=NO_MINING
    ),
    # A crawler uses the group with its own name alone (RFC 9309, 2.2.1).
    "our group": Form(
        "User-agent: *\nContent-Usage: train-ai=n\n\n"
        "User-agent: gossamer\nAllow: /\nContent-Usage: train-ai=y\n",
        home=TRAINING,
    ),
    "our silent group": Form(
        "User-agent: *\nContent-Usage: train-ai=n, search=n\n\nUser-agent: gossamer\nAllow: /\n"
    ),
    "other group": Form(
        "User-agent: OtherBot\nContent-Signal: search=no, ai-train=no\n\n"
        "User-agent: *\nAllow: /\nContent-Signal: search=yes\n",
        home=SEARCH,
    ),
    # Groups that name one crawler are one group (RFC 9309, 2.2.1).
    "groups merged": Form(
        "User-agent: gossamer\nAllow: /\nContent-Usage: train-ai=n\n\n"
        "User-agent: *\nAllow: /\nContent-Usage: search=n\n\n"
        "User-agent: Gossamer\nAllow: /\nContent-Signal: ai-input=no\n",
        home=NO_TRAINING | NO_INPUT,
    ),
    "names of a group": Form(
        "User-agent: OtherBot\nUser-agent: gossamer\nContent-Usage: train-ai=n\nAllow: /\n\n"
        "User-agent: *\nContent-Usage: search=n\nAllow: /\n",
        home=NO_TRAINING,
    ),
    # The draft makes Content-Usage a rule, so a name after it begins another group.
    "group of usage alone": Form(
        "User-agent: OtherBot\nContent-Usage: search=n\n\n"
        "User-agent: gossamer\nContent-Usage: train-ai=n\n\n"
        "User-agent: *\nContent-Signal: ai-input=no\n",
        home=NO_TRAINING,
    ),
}


def _headers(home: Says | None = None, **headers: str) -> Form:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Form(headers=named, home=home or {})


HEADERS: Mapping[str, Form] = {
    ABSENT: Form(),
    "usage no": _headers(NO_TRAINING, Content_Usage="train-ai=n"),
    "usage yes": _headers(TRAINING, Content_Usage="train-ai=y"),
    "usage no search": _headers(NO_SEARCH | TRAINING, Content_Usage="search=n, train-ai=y"),
    "usage malformed": _headers(Content_Usage="train-ai=n; ;"),
    "usage with path": _headers(Content_Usage="/ train-ai=n"),
    "signal no": _headers(NO_MINING, Content_Signal="ai-train=no, ai-input=no"),
    "signal yes": _headers(MINING | SEARCH, Content_Signal="ai-train=yes,ai-input=yes,search=yes"),
    "noindex": _headers(NO_SEARCH, X_Robots_Tag="noindex"),
    "noarchive": _headers(NO_ARCHIVE, X_Robots_Tag="nofollow, noarchive"),
    "none": _headers(NO_SEARCH, X_Robots_Tag="none"),
    "noai": _headers(NO_MINING, X_Robots_Tag="noai"),
    "nosnippet": _headers(NO_INPUT, X_Robots_Tag="nosnippet"),
    "no restriction": _headers(X_Robots_Tag="index, follow, all"),
    "other crawler": _headers(X_Robots_Tag="otherbot: noindex"),
    "our name": _headers(NO_ARCHIVE, X_Robots_Tag="gossamer: noarchive"),
    "reserved": _headers(NO_MINING, tdm_reservation="1"),
    "reserved with policy": _headers(
        NO_MINING, tdm_reservation="1", tdm_policy="http://{host}:{port}/policy.json"
    ),
    "not reserved": _headers(MINING, tdm_reservation="0"),
    "reservation malformed": _headers(tdm_reservation="yes"),
    "usage and signal": _headers(
        NO_TRAINING | SEARCH, Content_Usage="train-ai=y, search=y", Content_Signal="ai-train=no"
    ),
}


def _meta(home: Says | None = None, *elements: tuple[str, str]) -> Form:
    text = "".join(f'<meta name="{name}" content="{content}">' for name, content in elements)
    return Form(text, home=home or {})


META: Mapping[str, Form] = {
    ABSENT: Form(),
    "noindex": _meta(NO_SEARCH, ("robots", "noindex")),
    "noarchive": _meta(NO_ARCHIVE, ("ROBOTS", "NOARCHIVE")),
    "noai": _meta(NO_MINING, ("robots", "noai, noimageai")),
    "nosnippet": _meta(NO_INPUT, ("robots", "nosnippet")),
    "no restriction": _meta({}, ("robots", "index,follow")),
    "other crawler": _meta({}, ("otherbot", "noindex, noai")),
    "our name": _meta(NO_SEARCH, ("gossamer", "noindex")),
    "reserved": _meta(NO_MINING, ("tdm-reservation", "1")),
    "not reserved": _meta(MINING, ("tdm-reservation", "0")),
    "reservation malformed": _meta({}, ("tdm-reservation", "true")),
    "two elements": _meta(NO_ARCHIVE | NO_MINING, ("robots", "noarchive"), ("robots", "noai")),
}

TDMREP: Mapping[str, Form] = {
    ABSENT: Form(),
    "reserved": Form('[{"location": "/*", "tdm-reservation": 1}]', home=NO_MINING),
    "reserved with policy": Form(
        '[{"location": "/*", "tdm-reservation": 1, '
        '"tdm-policy": "http://{host}:{port}/policy.json"}]',
        home=NO_MINING,
    ),
    "not reserved": Form('[{"location": "/*", "tdm-reservation": 0}]', home=MINING),
    "of one folder": Form('[{"location": "/works/*", "tdm-reservation": 1}]', works=NO_MINING),
    "but one folder": Form(
        '[{"location": "/works/*", "tdm-reservation": 0}, '
        '{"location": "/*", "tdm-reservation": 1}]',
        home=NO_MINING,
        works=MINING,
    ),
    "of other folders": Form('[{"location": "/images/*", "tdm-reservation": 1}]'),
    # What cannot be read of a file of the protocol counts as reserved.
    "malformed": Form('[{"location": "/*", "tdm-reservation": 1', home=NO_MINING),
    "no list": Form('"reserved"'),
    "one entry without a list": Form(
        '{"location": "/works/*", "tdm-reservation": 1}', works=NO_MINING
    ),
    "no location": Form('[{"tdm-reservation": 1}]', home=NO_MINING),
}


def _rsl(content: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<rsl xmlns="https://rslstandard.org/rsl">\n{content}\n</rsl>\n'
    )


def _terms(uses: str, url: str = "/") -> str:
    return _rsl(f'<content url="{url}"><license>{uses}</license></content>')


LICENSES: Mapping[str, Form] = {
    ABSENT: Form(),
    "search only": Form(
        _terms(
            '<permits type="usage">search</permits>'
            '<prohibits type="usage">ai-train ai-input</prohibits>'
        ),
        home=SEARCH_ONLY,
    ),
    "no training": Form(
        _terms(
            '<permits type="usage">search ai-input</permits>'
            '<prohibits type="usage">ai-train</prohibits><payment type="free"/>'
        ),
        home=SEARCH | NO_TRAINING | {"ai-input": True},
    ),
    # Two alternatives: the search is free, and input for models has a price, which nobody pays.
    "priced": Form(
        _terms(
            '<permits type="usage">search</permits><payment type="free"/></license><license>'
            '<permits type="usage">ai-input</permits><prohibits type="usage">ai-train</prohibits>'
            '<payment type="crawl"><amount currency="USD">0.01</amount></payment>'
        ),
        home=SEARCH_ONLY,
    ),
    "of one folder": Form(
        _terms(
            '<permits type="usage">search</permits>'
            '<prohibits type="usage">ai-train ai-input</prohibits>',
            "/works/",
        ),
        works=SEARCH_ONLY,
    ),
    "all models": Form(
        _terms('<permits type="usage">search</permits><prohibits type="usage">ai-all</prohibits>'),
        home=SEARCH_ONLY,
    ),
    "of another host": Form(
        _terms('<prohibits type="usage">ai-train</prohibits>', "https://elsewhere.example/")
    ),
    # A license file that cannot be read reserves all uses, also that of archives.
    "malformed": Form(
        '<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>', home=NOTHING
    ),
    "other namespace": Form(
        '<rsl xmlns="urn:other"><content url="/"><license>'
        '<prohibits type="usage">ai-train</prohibits></license></content></rsl>'
    ),
}
