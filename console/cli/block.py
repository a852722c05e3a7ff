"""`gossamer block`: never requests what is named, from now on, until `gossamer unblock`.

It only says so, on the topic `control`; all processes read that, and go by it within seconds.
"""

import argparse
from collections.abc import Sequence

from console.cli.options import add_crawl, lines_of, open_from
from console.open_crawl import OpenCrawl
from gossamer import clock
from gossamer.blocklist import describe_rule, parse_rule
from gossamer.crawl import blocklist_of
from gossamer.errors import BadSettings
from gossamer.events import BlocklistChanged
from gossamer.log.codec import encode
from gossamer.terminal import printable

MOST = 1000
"""Rules that are set at once."""
LONGEST = 5000
"""Characters of a line."""
WHAT = (
    "a host (www.example.org, or one port of it with :PORT), a domain (*.example.org), a URL, all "
    "URLs that begin so (example.org/private/*), or a network (192.0.2.0/24)"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("what", nargs="*", metavar="WHAT", help=WHAT)
    command.add_argument(
        "--file",
        metavar="FILE",
        help="more of the same, one on a line (# for comments); - is standard input",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Forbid what is named, and say what that is."""
    rules = rules_of(options)
    with open_from(options) as crawl:
        known = blocklist_of(crawl.log).rules
        change(crawl, [rule for rule in rules if rule not in known], lifted=False)
    for rule in rules:
        word = "is blocked already" if rule in known else "is blocked"
        print(printable(f"{rule} {word}: {describe_rule(rule)}", LONGEST))
    print("A request that is under way comes to its end. What waits is parked for when it is no")
    print("longer blocked; gossamer blocked lists the rules.")
    return 0


def rules_of(options: argparse.Namespace) -> list[str]:
    """Return the rules that are named, and those in the file; raise BadSettings if one is none."""
    lines = map(str.strip, lines_of(options.what, options.file, "--file"))
    rules = [*dict.fromkeys(parse_rule(line) for line in lines if line and line[0] != "#")]
    if not rules:
        raise BadSettings(f"name something: {WHAT}")
    return rules


def change(crawl: OpenCrawl, rules: Sequence[str], lifted: bool) -> None:
    """Set *rules*, or lift them."""
    now = clock.now()
    for some in range(0, len(rules), MOST):
        events = [
            BlocklistChanged(at=now, rule=rule, lifted=lifted) for rule in rules[some : some + MOST]
        ]
        crawl.log.append([encode(event) for event in events])
