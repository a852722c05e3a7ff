"""`gossamer store apply`: makes the keyspace and the tables of a fleet, and says what differs."""

import argparse
import sys
from contextlib import closing

from console.cli.options import add_config, settings_of
from console.tables import tables
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.tables import create_tables, durability_warnings


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "action", choices=("apply",), help="make what is missing, say what differs"
    )
    command.add_argument(
        "--reset-options",
        action="store_true",
        help="give all tables the compaction, compression and gc_grace_seconds of new ones",
    )
    add_config(command)


def run(options: argparse.Namespace) -> int:
    """Print what is done, as it is done."""
    given = settings_of(options)
    settings, wanted = given.cassandra, tables(given)
    with closing(Cassandra(settings)) as nodes:
        done = False
        for what in create_tables(nodes, settings, wanted, options.reset_options):
            print(what, flush=True)
            done = True
        if not done:
            print(f"keyspace {settings.keyspace}: its {len(wanted)} tables are as they should be")
        for warning in durability_warnings(nodes, settings.keyspace):
            print(f"gossamer: warning: {warning}", file=sys.stderr)
    return 0
