"""`gossamer check SEEDS`: one visit to each seed of a list, and the seeds that are bad."""

import argparse

from gossamer.console.cli.crawl_options import VISIT_OPTIONS
from gossamer.console.cli.options import add_config, seconds


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "seeds",
        nargs="+",
        metavar="SEEDS",
        help="URLs, or files with a URL a line; - is standard input",
    )
    command.add_argument("--verbose", action="store_true", help="print good seeds, too")
    command.add_argument("--json", action="store_true", help="one JSON object a line, all seeds")
    command.add_argument(
        "--max-time",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="stop after this time: 90s, 15m, 2h. The rest is not checked",
    )
    add_config(command)
    for option in VISIT_OPTIONS:
        option.add_to(command)


def run(options: argparse.Namespace) -> int:
    """Visit the seeds, and print their states; return 1 if any is bad."""
    # It imports all services, which takes longer than the help.
    from gossamer.console.cli.checking import run_command

    return run_command(options)
