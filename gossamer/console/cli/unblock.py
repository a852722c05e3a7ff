"""`gossamer unblock`: lifts rules of the blocklist, so that parked URLs are admitted again."""

import argparse

from gossamer import clock
from gossamer.changes.blocking import plan_unblock
from gossamer.console.cli import block
from gossamer.console.cli.changing import carry_out
from gossamer.console.cli.options import open_from
from gossamer.console.output import say


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `gossamer block`."""
    block.add_options(command)


def run(options: argparse.Namespace) -> int:
    """Lift the rules; return 1 if none of them was on the blocklist."""
    rules = block.rules_of(options)
    with open_from(options) as crawl:
        effect = carry_out(crawl, plan_unblock(crawl, rules, clock.now()), options)
    if effect.count:
        say(effect.text)
    return 0 if effect.count else 1
