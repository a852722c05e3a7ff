"""`gossamer block`: adds rules to the blocklist, so that their URLs are not requested any more.

The rules go to the topic `control`. All processes apply them within seconds.
"""

import argparse
from collections.abc import Sequence

from console.cli.options import add_crawl, lines_of, open_from
from console.output import say
from gossamer import clock
from gossamer.blocklist import describe_rule, parse_rule
from gossamer.crawl import blocklist_of
from gossamer.errors import BadSettings
from gossamer.events import BlocklistChanged
from gossamer.log.codec import encode
from inspection.crawl import OpenCrawl
from inspection.figures import plural

MAX_BATCH_RULES = 1000
"""Rules that are appended at once."""
TARGETS = (
    "a host (www.example.org, or one port: www.example.org:8080), a domain (*.example.org), a URL, "
    "a URL prefix (example.org/private/*), or a network (192.0.2.0/24)"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("rules", nargs="*", metavar="RULE", help=TARGETS)
    command.add_argument(
        "--file",
        metavar="FILE",
        help="read rules from FILE, one a line (# begins a comment); - is standard input",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Add the rules, and print them."""
    rules = rules_of(options)
    with open_from(options) as crawl:
        before = blocklist_of(crawl.log).rules
        append_rules(crawl, [rule for rule in rules if rule not in before], lifted=False)
    for rule in rules:
        word = "was blocked already" if rule in before else "is blocked"
        say(f"{rule} {word}: {describe_rule(rule)}")
    added = sum(rule not in before for rule in rules)
    say(
        f"{plural(added, 'rule')} added. Requests in flight finish; queued URLs are parked until "
        "the rule is lifted. gossamer blocklist lists the rules."
    )
    return 0


def rules_of(options: argparse.Namespace) -> list[str]:
    """Return the rules on the command line and in the file; raise BadSettings if one is invalid."""
    lines = map(str.strip, lines_of(options.rules, options.file, "--file"))
    rules = [*dict.fromkeys(parse_rule(line) for line in lines if line and line[0] != "#")]
    if not rules:
        raise BadSettings(f"name a rule: {TARGETS}")
    return rules


def append_rules(crawl: OpenCrawl, rules: Sequence[str], lifted: bool) -> None:
    """Add *rules* to the blocklist, or lift them."""
    now = clock.now()
    for start in range(0, len(rules), MAX_BATCH_RULES):
        events = [
            BlocklistChanged(at=now, rule=rule, lifted=lifted)
            for rule in rules[start : start + MAX_BATCH_RULES]
        ]
        crawl.log.append([encode(event) for event in events])
