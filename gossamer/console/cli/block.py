"""`gossamer block`: adds rules to the blocklist, so that their URLs are not requested any more.

The rules go to the topic `control`. All processes apply them within seconds.
"""

import argparse

from gossamer import clock
from gossamer.blocklist import parse_rule
from gossamer.changes.blocking import plan_block
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_place, lines_of, open_from
from gossamer.console.output import say
from gossamer.errors import BadSettings

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
    add_change(command, may_expire=True)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Add the rules, and print them."""
    rules = rules_of(options)
    with open_from(options) as crawl:
        effect = carry_out(crawl, plan_block(crawl, rules, clock.now()), options)
    say(f"{effect.text} gossamer blocklist lists the rules.")
    return 0


def rules_of(options: argparse.Namespace) -> list[str]:
    """Return the rules on the command line and in the file; raise BadSettings if one is invalid."""
    lines = map(str.strip, lines_of(options.rules, options.file, "--file"))
    rules = [*dict.fromkeys(parse_rule(line) for line in lines if line and line[0] != "#")]
    if not rules:
        raise BadSettings(f"name a rule: {TARGETS}")
    return rules
