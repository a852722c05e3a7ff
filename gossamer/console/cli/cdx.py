"""`gossamer cdx`: one index of all captures of a crawl, in CDXJ, merged from the files' indexes."""

import argparse
import sys

from gossamer.console.cli.options import add_crawl, add_output, open_from, open_output
from gossamer.console.output import say
from gossamer.inspection.archive.warcs import list_warcs
from gossamer.inspection.basics.figures import plural


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    add_output(command)


def run(options: argparse.Namespace) -> int:
    """Write the index."""
    with open_from(options) as crawl:
        warcs = list_warcs(crawl)
        captures = 0
        with open_output(options) as out:
            for line in warcs.merged_lines():
                out.write(line.encode())
                captures += 1
    if options.output:
        count = plural(captures, "capture")
        say(f"Index of {count} in {plural(len(warcs.files), 'file')} written to {options.output}.")
    if warcs.absent:
        print(
            f"{plural(len(warcs.absent), 'open file')} on other machines: not in the index yet.",
            file=sys.stderr,
        )
    return 0
