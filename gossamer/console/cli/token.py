"""`gossamer token`: creates a token for the web console and the HTTP API."""

import argparse
import re
import sys
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_config, names, seconds, settings_of
from gossamer.console.output import output_for
from gossamer.crawl import check_id
from gossamer.errors import BadSettings
from gossamer.settings.api import ROLES, Grant

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
"""Names of tokens. Records of changes contain them."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("name", metavar="NAME", help="whose token it is, such as ann or backup")
    command.add_argument(
        "--role", choices=ROLES, required=True, help="what its owner may do: each includes view"
    )
    command.add_argument(
        "--crawls", type=names, default=(), metavar="LIST", help="only for these crawls"
    )
    command.add_argument(
        "--for", dest="duration", type=seconds, metavar="TIME", help="valid so long: 90d"
    )
    command.add_argument("--file", type=Path, help="the file of tokens (default: api.tokens_file)")
    add_config(command)


def run(options: argparse.Namespace) -> int:
    """Add the token to the file, and print it once."""
    from gossamer.console.api.tokens import add_token

    if not NAME.fullmatch(options.name):
        raise BadSettings(f"{options.name[:80]!r} is not a name: write letters, digits, _ . @ -")
    for crawl in options.crawls:
        check_id(crawl)
    file = options.file or settings_of(options).api.tokens_file
    if file is None:
        raise BadSettings("set api.tokens_file, or name the file with --file")
    expires_at = None if options.duration is None else clock.now() + options.duration
    grant = Grant(options.role, frozenset(options.crawls) or None)
    print(add_token(file, options.name, grant, expires_at))
    # Not on the standard output, which is the token alone.
    note = f"It is shown only now. {file} has its hash; remove entry [{options.name}] to revoke it."
    print(output_for(sys.stderr).sentence(note), file=sys.stderr)
    return 0
