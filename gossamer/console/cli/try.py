"""`gossamer try URL`: one page without a crawl, as a crawl sees it."""

import argparse

from gossamer.console.cli.crawl_options import VISIT_OPTIONS
from gossamer.console.cli.options import add_config, seconds

MAX_TIME = 120.0


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("url", metavar="URL")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--shell", action="store_true", help="open Python with the page as `page`")
    command.add_argument(
        "--verbose", action="store_true", help="print all headers, links, the text and the Markdown"
    )
    command.add_argument(
        "--probe",
        action="store_true",
        help="also request a path that cannot exist, to recognise a soft 404",
    )
    command.add_argument(
        "--max-time",
        type=seconds,
        default=MAX_TIME,
        metavar="TIME",
        help=f"stop after this time (default: {MAX_TIME:.0f}s)",
    )
    add_config(command)
    for option in VISIT_OPTIONS:
        option.add_to(command)


def run(options: argparse.Namespace) -> int:
    """Fetch the page, and show it; return 1 without a page."""
    # It imports all services, which takes longer than the help.
    from gossamer.console.cli.trying import run_command

    return run_command(options)
