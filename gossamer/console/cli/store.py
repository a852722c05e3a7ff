"""`gossamer store apply`: creates the keyspace and tables of a fleet, and reports differences."""

import argparse
from contextlib import closing

from gossamer.console.cli.options import add_config, settings_of
from gossamer.console.output import print_error, say
from gossamer.procedures.tables import tables
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.tables import create_tables, durability_warnings


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "action", choices=("apply",), help="create missing tables, and report differences"
    )
    command.add_argument(
        "--reset-options",
        action="store_true",
        help="reset compaction, compression and gc_grace_seconds of all tables to the defaults",
    )
    add_config(command)


def run(options: argparse.Namespace) -> int:
    """Print each change when it is made."""
    all_settings = settings_of(options)
    settings, expected = all_settings.cassandra, tables(all_settings)
    with closing(Cassandra(settings)) as nodes:
        has_changed = False
        for change in create_tables(nodes, settings, expected, options.reset_options):
            say(change)
            has_changed = True
        if not has_changed:
            say(f"Keyspace {settings.keyspace}: its {len(expected)} tables are correct.")
        for warning in durability_warnings(nodes, settings.keyspace):
            print_error("gossamer", f"warning: {warning}")
    return 0
