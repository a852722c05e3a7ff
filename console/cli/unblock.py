"""`gossamer unblock`: lifts rules of the blocklist; what they held back comes again."""

import argparse

from console.cli import block
from console.cli.options import open_from
from gossamer.crawl import blocklist_of
from gossamer.terminal import printable


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*: those of `gossamer block`."""
    block.add_options(command)


def run(options: argparse.Namespace) -> int:
    """Lift what is named; the exit status is 1 if none of it was blocked."""
    rules = block.rules_of(options)
    with open_from(options) as crawl:
        known = blocklist_of(crawl.log).rules
        lifted = [rule for rule in rules if rule in known]
        block.change(crawl, lifted, lifted=True)
    for rule in rules:
        text = (
            "is blocked no longer" if rule in known else "is no rule: gossamer blocked lists them"
        )
        print(printable(f"{rule} {text}", block.LONGEST))
    if lifted:
        print("New URLs that were parked are admitted again; pages that were known come back by")
        print("their plans (gossamer refetch has them now), and hosts that were found in a network")
        print("within the hour (gossamer retry).")
    return 0 if lifted else 1
