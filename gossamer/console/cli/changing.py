"""The options of commands that change something, and how they carry a change out."""

import argparse
import getpass
import os
import socket

from gossamer import clock
from gossamer.changes.commit import commit, preview
from gossamer.changes.plan import ChangeRequest, Effect, Plan
from gossamer.console.cli.options import seconds
from gossamer.console.output import BOLD, GREEN, MAX_LINE_LENGTH, YELLOW, say, say_each
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.terminal import printable


def add_change(command: argparse.ArgumentParser, may_expire: bool = False) -> None:
    """Add the options of a change to *command*; *may_expire*: of a setting."""
    if may_expire:
        command.add_argument(
            "--for",
            dest="expires_after",
            type=seconds,
            metavar="TIME",
            help="restore the earlier setting after TIME: 30min, 12h, '1 day'",
        )
    command.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="the reason for the change, which gossamer audit shows",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="show the effect, and change nothing"
    )


def request_of(options: argparse.Namespace) -> ChangeRequest:
    """Return the request of the user who runs the command."""
    expires_after = getattr(options, "expires_after", None)
    expires_at = None if expires_after is None else clock.now() + expires_after
    return ChangeRequest(actor=user_name(), reason=options.reason, expires_at=expires_at)


def user_name() -> str:
    """Return the user who runs the command, and the machine: `ann@laptop`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # A container may run as a user without a name.
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def is_confirmed(question: str) -> bool:
    """Ask the user *question*; return whether the answer is yes."""
    try:
        shown = printable(f"{question} This cannot be undone. [y/N] ", MAX_LINE_LENGTH)
        return input(shown).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def carry_out(crawl: OpenCrawl, plan: Plan, options: argparse.Namespace) -> Effect:
    """Commit *plan*, or only report it under `--dry-run`; print the effect on each subject.

    Return the effect, whose count is 0 if there is nothing to change. The caller prints its
    sentence.
    """
    request = request_of(options)
    if options.dry_run:
        effect = preview(plan)
        say("Dry run: nothing is changed. Without --dry-run:", BOLD)
    else:
        effect = commit(crawl.log, plan, request, clock.now()).effect
    say_each(effect.lines, GREEN)
    say_each(effect.refused, YELLOW)
    say_each(effect.estimate)
    if request.expires_at is not None and effect.count:
        say(f"This ends at {instant(request.expires_at)}: then the earlier setting returns.")
    return effect
