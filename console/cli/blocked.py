"""`gossamer blocked`: what is on the blocklist, or by which rule something is."""

import argparse

from console.cli.block import LONGEST
from console.cli.options import add_crawl, open_from
from console.figures import instant
from gossamer.blocklist import describe_rule
from gossamer.crawl import blocklist_of, canonical_of_typed
from gossamer.errors import BadSettings
from gossamer.terminal import printable
from gossamer.web.url import BadUrl


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("urls", nargs="*", metavar="URL", help="say of these whether they are")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the rules, or say of URLs which of them forbids each; 1 if there is none."""
    try:
        urls = [canonical_of_typed(text) for text in options.urls]
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    with open_from(options) as crawl:
        blocklist = blocklist_of(crawl.log)
    if not urls:
        for rule, event in sorted(blocklist.rules.items()):
            print(printable(f"{rule}  {describe_rule(rule)}, since {instant(event.at)}", LONGEST))
        return 0 if blocklist.rules else 1
    found = [(url, blocklist.of_url(url)) for url in urls]
    for url, rule in found:
        text = f"is blocked, by {rule}" if rule else "is not blocked, by its name"
        print(printable(f"{url} {text}", LONGEST))
    return 0 if any(rule for _, rule in found) else 1
