"""`gossamer history URL`: the visits to a URL, and how many words of the page had changed."""

import argparse
from itertools import islice

from gossamer.console.cli.options import add_crawl, open_from, positive
from gossamer.console.output import RED, print_list, say
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.basics.figures import instant, size
from gossamer.inspection.basics.labels import outcome_label, plain_reason
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.urls.visits import Visit, read_history


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("url", metavar="URL")
    command.add_argument("--limit", type=positive, metavar="N", help="only the newest N visits")
    command.add_argument("--json", action="store_true", help="one JSON object a line")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the visits, newest first. Return 1 if the list is empty."""
    with open_from(options) as crawl:
        url = crawl_form(crawl, options.url).url
        visits = islice(read_history(crawl, url), options.limit)
        nothing = f"{url} was never visited: gossamer why {url} explains"
        return print_list(visits, options.json, _show, nothing)


def _show(visit: Visit) -> None:
    say(_line(visit), RED if visit.outcome in FAILURES else "")


def _line(visit: Visit) -> str:
    label, reason = outcome_label(visit.outcome, visit.status), plain_reason(visit.reason)
    received = size(visit.size) if visit.size else ""
    parts = (instant(visit.at), label, visit.finding, reason, received, _place(visit))
    return "  ".join(filter(None, parts))


def _place(visit: Visit) -> str:
    if (capture := visit.capture) is None:
        return ""
    kind = "" if capture.record_type == "response" else f"{capture.record_type} record "
    return f"{kind}in {capture.file} at byte {capture.offset}"
