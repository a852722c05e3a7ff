"""`gossamer blocklist`: lists the rules of the blocklist, or the rule that forbids a URL."""

import argparse

from console.cli.options import add_place, open_from
from console.output import RED, say
from gossamer.blocklist import describe_rule
from gossamer.crawl import blocklist_of, canonical_of_typed
from gossamer.expiries import expiries_of
from gossamer.log.codec import key_of
from inspection.figures import instant


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
        blocklist, expiries = blocklist_of(crawl.log), expiries_of(crawl.log)
    if not urls:
        for rule, event in sorted(blocklist.rules.items()):
            expiry = expiries.get(key_of(event))
            until = f", until {instant(expiry.expires_at)}" if expiry and expiry.expires_at else ""
            say(f"{rule}  {describe_rule(rule)}, since {instant(event.at)}{until}")
        if not blocklist.rules:
            say("The blocklist is empty: gossamer block RULE adds a rule.")
        return 0 if blocklist.rules else 1
    found = [(url, blocklist.of_url(url)) for url in urls]
    for url, rule in found:
        if rule:
            say(f"{url} is blocked, by {rule}", RED)
        else:
            say(f"{url} is not blocked by its name; rules for networks need its address")
    return 0 if any(rule for _, rule in found) else 1
