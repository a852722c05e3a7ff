"""`gossamer blocklist`: lists the rules of the blocklist, or the rule that forbids a URL."""

import argparse

from gossamer.console.cli.options import add_place, open_from
from gossamer.console.output import RED, say
from gossamer.crawl import blocklist_of, canonical_of_typed
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.controls import BlockedRule, read_blocklist


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "urls", nargs="*", metavar="URL", help="print the rule that forbids URL, if there is one"
    )
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """List all rules, or the rules that forbid the URLs. Return 1 if the list is empty."""
    urls = [canonical_of_typed(text) for text in options.urls]
    with open_from(options) as crawl:
        if not urls:
            rules = read_blocklist(crawl.log, limit=None).items
            for blocked in rules:
                say(_line(blocked))
            if not rules:
                say("The blocklist is empty: gossamer block RULE adds a rule.")
            return 0 if rules else 1
        blocklist = blocklist_of(crawl.log)
    found = [(url, blocklist.of_url(url)) for url in urls]
    for url, rule in found:
        if rule:
            say(f"{url} is blocked, by {rule}", RED)
        else:
            say(f"{url} is not blocked by its name; rules for networks need its address")
    return 0 if any(rule for _, rule in found) else 1


def _line(rule: BlockedRule) -> str:
    until = f", until {instant(rule.expires_at)}" if rule.expires_at else ""
    by = f", by {rule.actor}" if rule.actor else ""
    reason = f": {rule.reason}" if rule.reason else ""
    return f"{rule.rule}  {rule.text}, since {instant(rule.at)}{until}{by}{reason}"
