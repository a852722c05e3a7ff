"""A trial of a rules file on a sample page, in a child with its sandbox, before a crawl starts."""

import builtins

from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import PageFetched, Visit
from gossamer.rules import PARAMETERS, FieldMissing
from gossamer.services.parser.options import Options
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.web.url import HostKey, Site

SAMPLE = b"""<!DOCTYPE html><html lang=en><head><title>A blue lamp</title>
<meta name=description content="A lamp for the desk."><meta property=og:type content=product>
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product",
"name": "A blue lamp", "offers": {"@type": "Offer", "price": "42.00", "priceCurrency": "EUR"}}
</script></head><body><nav><a href="/">Home</a><a href="/lamps?page=2">Next</a></nav>
<main><article><h1>A blue lamp</h1><p class=price>42.00</p>
<p>The lamp stands on a desk and gives light to those who read at night.</p>
<a href="/lamps/1">Another lamp</a></article></main></body></html>"""
IN_SANDBOX = tuple(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, OSError | ImportError | NameError)
)
"""Errors that a function raises on every page: it opens a file or a connection, imports a module,
or uses a name that does not exist."""
HINT = "Rules have no files and no network: read data files and import modules outside of functions"


async def try_rules(name: str, options: Options, pool: Pool) -> list[str]:
    """Return the errors that functions of the rules *name* raise on a sample page, which may be
    right: they may be made for other pages.

    Raise BadSettings if the rules cannot be used, or if a function fails on every page.
    """
    pool.use_rules(((name, ""),))
    page = PageFetched(
        at=0,
        site=Site("example.org"),
        host=HostKey("https://example.org"),
        visit=Visit("", "https://example.org/lamps/0"),
        started_at=0,
        took=0,
        status=200,
        headers=(("Content-Type", "text/html; charset=utf-8"),),
        body=SAMPLE,
    )
    options = replace(options, text="main")
    parsed = await pool.parse(Request(page, options, 0, name))
    raised = list[str]()
    for rule, failure in parsed.rule_failures.items():
        if rule not in PARAMETERS:
            raise BadSettings(failure)
        error = failure.partition(":")[0]
        if error in IN_SANDBOX:
            hint = f". {HINT}" if issubclass(vars(builtins)[error], OSError | ImportError) else ""
            raise BadSettings(f"rules: {rule} in {name} cannot work: {failure}{hint}")
        if error == FieldMissing.__name__:
            raise BadSettings(f"rules: {rule} in {name} cannot work: {failure}")
        if failure.startswith(rule):
            raise BadSettings(f"rules: {name}, on a sample page: {failure}")
        raised.append(f"{rule} raises an error on a sample page: {failure}")
    return raised
