"""`gossamer unblock`: lifts rules of the blocklist, so that parked URLs are admitted again."""

import argparse

from console.cli import block
from console.cli.options import open_from
from console.output import YELLOW, say
from gossamer.crawl import blocklist_of
from inspection.figures import plural


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `gossamer block`."""
    block.add_options(command)


def run(options: argparse.Namespace) -> int:
    """Lift the rules; return 1 if none of them was on the blocklist."""
    rules = block.rules_of(options)
    with open_from(options) as crawl:
        before = blocklist_of(crawl.log).rules
        lifted = [rule for rule in rules if rule in before]
        block.append_rules(crawl, lifted, lifted=True)
    for rule in rules:
        if rule in before:
            say(f"{rule} is not blocked any more.")
        else:
            say(f"{rule} is not on the blocklist: gossamer blocklist lists its rules.", YELLOW)
    if lifted:
        say(
            f"{plural(len(lifted), 'rule')} lifted. Parked URLs are admitted again, visited "
            "pages at their next planned visit (gossamer refetch: now), hosts in a blocked network "
            "within an hour (gossamer retry: now)."
        )
    return 0 if lifted else 1
