"""The visit of `gossamer try`, and what it prints."""

import argparse
import code
import json
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gossamer.console.cli.brief import definition_of, settings_for
from gossamer.console.output import BOLD, GREEN, RED, Line, print_json, print_lines, say
from gossamer.crawl import canonical_of_typed
from gossamer.events.outcomes import Purpose
from gossamer.inspection.answers.links import LinkFact
from gossamer.inspection.answers.tried import Exchange, TriedPage, read_tried
from gossamer.inspection.basics.figures import date_of, plural, size
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.progress.progress import End
from gossamer.settings import Settings
from gossamer.standalone.brief import crawl_briefly
from gossamer.terminal import escape_controls

SHOWN_LINKS = 5
"""Links of each kind that are printed without `--verbose`."""
SHOWN_CHARACTERS = 1000
"""Characters of the text that are printed without `--verbose`."""
SHOWN_HEADERS = ("content-type", "last-modified", "etag", "cache-control", "x-robots-tag", "link")
"""Headers that are printed without `--verbose`."""


def run_command(options: argparse.Namespace) -> int:
    """Fetch the page, and show it; return 1 without a page, and 130 after Ctrl-C."""
    is_probed = int(options.probe)
    settings, brief = settings_for(
        options, parser={"markdown": True}, frontier={"probe_after": is_probed}
    )
    seed = canonical_of_typed(options.url)
    definition = definition_of(options, settings, (seed,))
    with crawl_briefly(brief, (seed,), options.max_time, keeps_events=True, max_pages=1) as ended:
        if ended.end in (End.INTERRUPTED, End.KILLED):
            return 130
        with open_crawl(None, ended.folder.path) as crawl:
            page = read_tried(crawl, definition, seed, settings.dedup.url_limit, options.probe)
    if options.json:
        print_json(page.as_json(), is_indented=True)
    elif options.shell:
        open_shell(page)
    else:
        show(page, settings, options.verbose)
    return 0 if page.is_page else 1


def open_shell(page: TriedPage) -> None:
    """Open IPython, or else Python, with *page*."""
    names: dict[str, Any] = {"page": page}
    banner = (
        f"{page.answer}\npage is {page.url}: page.status, page.headers, page.title, page.text, "
        "page.markdown,\npage.links, page.linked_data, page.extracted, page.verdicts, page.html() …"
    )
    if find_spec("IPython"):
        print(banner)
        import_module("IPython").start_ipython(argv=[], user_ns=names)
    else:
        code.interact(banner, local=names)


def show(page: TriedPage, settings: Settings, is_verbose: bool) -> None:
    """Print *page* for people."""
    say(page.url, BOLD)
    say(f"  {page.answer}", GREEN if page.is_page else RED)
    print_lines(_requests(page))
    print_lines(_headers(page, is_verbose))
    if page.is_page:
        print_lines(_contents(page))
    print_lines(_verdicts(page, settings))
    if page.is_page:
        print_lines(_links(page, is_verbose))
    for title, text in (("Text", page.text), ("Markdown", page.markdown)):
        if text and (is_verbose or title == "Text"):
            _show_text(
                f"{title}{f' ({page.text_kind})' if title == 'Text' else ''}", text, is_verbose
            )


def _show_text(title: str, text: str, is_verbose: bool) -> None:
    shown = text if is_verbose else text[:SHOWN_CHARACTERS]
    print()
    say(f"{title}: {plural(len(text), 'character')}", BOLD)
    print(escape_controls(shown, keep="\n\t"))
    if len(shown) < len(text):
        say("… --verbose prints everything, and the Markdown.")


def _requests(page: TriedPage) -> Iterator[Line]:
    for number, one in enumerate(page.exchanges):
        yield Line("" if number else "requests", _exchange_text(one))
    for number, found in enumerate(page.robots):
        delay = f"; Crawl-delay {found.crawl_delay:g} s" if found.crawl_delay else ""
        word = "allows" if found.allowed else "forbids"
        text = f"{word} {found.url}: {found.rule}{delay}"
        yield Line("" if number else "robots.txt", text, "" if found.allowed else RED)
        yield from (Line("", f"{found.host}: {line}") for line in found.usage)


def _exchange_text(one: Exchange) -> str:
    purpose = "" if one.purpose in (Purpose.PAGE, Purpose.ROBOTS) else f" ({one.purpose})"
    if not one.was_requested:
        return f"{one.url}{purpose}: no request, {one.text}"
    target = f" to {one.location}" if one.location else ""
    address = f" from {one.address}" if one.address else ""
    answer = f"{one.status}{target}" if one.status else one.text
    return f"{one.url}{purpose}: {answer}, {size(one.received)} in {one.took:.2f} s{address}"


def _headers(page: TriedPage, is_verbose: bool) -> Iterator[Line]:
    if not page.status:
        return
    yield Line("response", f"HTTP/{page.http_version} {page.status} {page.reason}".rstrip())
    for name, value in page.headers:
        if is_verbose or name.lower() in SHOWN_HEADERS:
            yield Line("", f"{name}: {value}")


def _contents(page: TriedPage) -> Iterator[Line]:
    cut = ", cut" if page.truncated else ""
    yield Line(
        "type", ", ".join(filter(None, (page.content_type, page.charset, size(page.size) + cut)))
    )
    yield Line("title", page.title or "none")
    dates = [("published", page.published_at), ("modified", page.modified_at)]
    known = {
        "canonical": page.canonical,
        "description": page.description,
        "author": page.author,
        "language": page.language,
        **{name: date_of(at) for name, at in dates if at},
    }
    yield from (Line(name, value) for name, value in known.items() if value)
    if page.listing:
        yield Line(
            "listing", f"{page.listing} of {plural(len(page.entries), 'URL')}, visited in a crawl"
        )
    for number, found in enumerate(page.linked_data):
        text = ", ".join(_types(found.value)) if not found.fault else found.fault
        yield Line("" if number else "JSON-LD", text or "without a type")
    for number, row in enumerate(page.extracted):
        yield Line("" if number else "extracted", json.dumps(row, ensure_ascii=False))
    for function, failure in page.rule_failures.items():
        yield Line("rules", f"{function} failed: {failure}", RED)


def _types(value: Any) -> Iterator[str]:
    """Yield the types of the objects in JSON-LD."""
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            continue
        named = one.get("@type", [])
        yield from (str(kind) for kind in (named if isinstance(named, list) else [named]))
        yield from _types(one.get("@graph", []))


def _verdicts(page: TriedPage, settings: Settings) -> Iterator[Line]:
    verdicts = page.verdicts
    if verdicts.excluded:
        yield Line("crawl", f"would not visit it: {verdicts.excluded}", RED)
    if not page.is_page:
        return
    # Purposes with a known judgement come first.
    usage = sorted(page.usage.items(), key=lambda found: found[1].allowed is None)
    for number, (purpose, judgement) in enumerate(usage):
        is_wanted = " (a purpose of the crawl)" if purpose in settings.crawl.purposes else ""
        by = f", by {'; '.join(map(str, judgement.by))}" if judgement.by else ""
        yield Line("" if number else "use", f"{purpose}: {judgement.word}{by}{is_wanted}")
    published = "published" if verdicts.is_published else f"not published: {verdicts.not_published}"
    yield Line("dedup", f"{verdicts.verdict.replace('_', '-')}, {published}")
    yield Line(
        "archive", "archived" if verdicts.is_archived else f"not archived: {verdicts.not_archived}"
    )
    tested = "not tested: --probe asks the host for a missing page"
    answers = {None: tested, True: "the host answers like this for missing pages", False: "no"}
    yield Line("soft 404", answers[verdicts.soft_404])
    if verdicts.needs_rendering:
        yield Line("rendering", "its text seems to need scripts, which are not run", RED)
    if count := len(page.requisites):
        which = settings.archive.requisites
        taken = "not fetched: archive.requisites is off" if which == "off" else f"fetched: {which}"
        yield Line("requisites", f"{count} (images, styles, scripts, fonts), {taken}")
    for number, label in enumerate(page.hazards.values()):
        yield Line("" if number else "notes", label)


def _links(page: TriedPage, is_verbose: bool) -> Iterator[Line]:
    by_rule = defaultdict[str, list[LinkFact]](list)
    for link in page.links:
        by_rule[link.rule].append(link)
    followed = len(by_rule.get("", ()))
    yield Line("links", f"{len(page.links)}, of which {followed} would be followed")
    for rule in sorted(by_rule, key=lambda name: (bool(name), name)):
        found = by_rule[rule]
        for link in found if is_verbose else found[:SHOWN_LINKS]:
            reason = f": {link.reason}" if link.reason else ""
            yield Line("", f"{'-' if link.rule else '+'} {link.url}{reason}")
        if not is_verbose and len(found) > SHOWN_LINKS:
            more, kind = len(found) - SHOWN_LINKS, "like this" if rule else "that would be followed"
            yield Line("", f"  and {more:,} more {kind}")
