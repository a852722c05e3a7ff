"""The tables of a keyspace: their creation, and their differences from the row classes."""

from collections.abc import Iterator, Mapping, Sequence

from gossamer.errors import BadSettings, GossamerError
from gossamer.settings.servers import CassandraSettings
from gossamer.store import Row
from gossamer.store.cassandra import cql
from gossamer.store.cassandra.session import Cassandra

Tables = dict[str, dict[str, cql.FoundColumn]]


def read_tables(nodes: Cassandra, keyspace: str) -> Tables:
    """Return the columns of each table of *keyspace*. Raise GossamerError if the keyspace is
    missing."""
    if not nodes.query(cql.SELECT_KEYSPACE, [keyspace]):
        raise GossamerError(
            f"{nodes.where} has no keyspace {keyspace}: run gossamer store apply, "
            "or change cassandra.keyspace"
        )
    tables: Tables = {}
    for table, name, kind, role, order in nodes.query(cql.SELECT_COLUMNS, [keyspace]):
        tables.setdefault(table, {})[name] = cql.FoundColumn(kind, role, order)
    return tables


def check_consistency(nodes: Cassandra, settings: CassandraSettings) -> None:
    """Raise BadSettings unless every read includes a replica that every earlier write has
    reached."""
    consistency, keyspace = settings.consistency, settings.keyspace
    centres = _copies_by_centre(nodes, keyspace)
    copies = sum(centres.values())
    if consistency == "LOCAL_QUORUM" and len(centres) > 1:
        raise BadSettings(
            f"cassandra.consistency is LOCAL_QUORUM, and keyspace {keyspace} has replicas in "
            f"{len(centres)} data centres ({', '.join(sorted(centres))}): processes in different "
            "data centres could hold the same claim and visit the same host; set "
            "cassandra.consistency to QUORUM for all processes, or keep replicas only in "
            f"{settings.datacenter} (ALTER KEYSPACE)"
        )
    if consistency in ("ONE", "LOCAL_ONE") and copies > 1:
        raise BadSettings(
            f"cassandra.consistency is {consistency}, and keyspace {keyspace} has "
            f"{copies} replicas: a read may miss a claim that was written to another replica, and "
            "two fetchers would visit the same host; set cassandra.consistency to LOCAL_QUORUM"
        )


def _copies_by_centre(nodes: Cassandra, keyspace: str) -> dict[str, int]:
    """Return the number of replicas of *keyspace* in each data centre that has any.

    SimpleStrategy, which ignores data centres, counts as one.
    """
    (replication,) = nodes.query(cql.SELECT_REPLICATION, [keyspace])[0]
    # Transient replication is written as 3/1: three replicas, one of them transient.
    numbers = {name: text.split("/")[0] for name, text in replication.items() if name != "class"}
    return {name: int(text) for name, text in numbers.items() if text.isdigit() and int(text)}


def table_problems(row: type[Row], tables: Tables) -> list[str]:
    """Return why *row* cannot be stored in these tables, as sentences, or [] if it can."""
    if row.table not in tables:
        return [f"table {row.table} is missing"]
    found = tables[row.table]
    # Mismatches come first, because adding columns would not repair them.
    mismatches = [f"table {row.table}: {text}" for text in cql.mismatches(row, found)]
    return mismatches or [
        f"table {row.table} has no column {name}" for name in cql.missing_columns(row, found)
    ]


def create_tables(
    nodes: Cassandra,
    settings: CassandraSettings,
    rows: Mapping[type[Row], cql.Options],
    reset: bool = False,
) -> Iterator[str]:
    """Create missing tables of *rows* with their options. Yield a line for each change, and for
    each differing option that is not changed.

    Existing tables get missing columns and their `FIXED` options, or with *reset* all options.
    Several processes may do this at the same time.
    """
    name = settings.keyspace
    if not nodes.query(cql.SELECT_KEYSPACE, [name]):
        nodes.change(cql.create_keyspace(name, settings.datacenter, settings.replication))
        factor = f"replication factor {settings.replication} in {settings.datacenter}"
        yield f"keyspace {name}: created with {factor}"
    check_consistency(nodes, settings)
    tables = read_tables(nodes, name)
    _refuse_mismatches(nodes, name, list(rows), tables)
    found = _found_options(nodes, name)
    for row, options in rows.items():
        if row.table not in tables:
            nodes.change(cql.create_table(row, name, options))
            yield f"table {row.table}: created"
            continue
        for column in cql.missing_columns(row, tables[row.table]):
            nodes.change(cql.add_column(row, name, column))
            yield f"table {row.table}: column {column} added"
        there = found[row.table]
        differing = options.differing(there)
        if altered := [one for one in differing if reset or one in cql.FIXED_OPTIONS]:
            nodes.change(cql.alter_table(row, name, options, altered))
            yield f"table {row.table}: {', '.join(altered)} altered"
        for one in differing:
            if one not in altered:
                unchanged = _describe_option(row, options, there, one, "stays")
                yield f"{unchanged}; --reset-options changes it"


def option_problems(
    nodes: Cassandra, keyspace: str, rows: Mapping[type[Row], cql.Options]
) -> tuple[list[str], list[str]]:
    """Return phrases about differing options of the existing tables of *rows*: first options that
    the services rely on, then options that an operator may keep."""
    fixed, kept = list[str](), list[str]()
    found = _found_options(nodes, keyspace)
    for row, options in rows.items():
        if row.table in found:
            there = found[row.table]
            for one in options.differing(there):
                if one in cql.FIXED_OPTIONS:
                    fixed.append(_describe_option(row, options, there, one, "is"))
                else:
                    kept.append(_describe_option(row, options, there, one, "stays"))
    return fixed, kept


def _found_options(nodes: Cassandra, keyspace: str) -> dict[str, cql.FoundOptions]:
    return {
        table: cql.FoundOptions(*options)
        for table, *options in nodes.query(cql.SELECT_OPTIONS, [keyspace])
    }


def _describe_option(
    row: type[Row], wanted: cql.Options, there: cql.FoundOptions, name: str, verb: str
) -> str:
    values = f"{there.properties()[name]}, not {wanted.properties()[name]}"
    return f"table {row.table}: {name} {verb} {values}"


def _refuse_mismatches(
    nodes: Cassandra, keyspace: str, rows: Sequence[type[Row]], tables: Tables
) -> None:
    problems = [
        f"table {row.table}: {text}"
        for row in rows
        if row.table in tables
        for text in cql.mismatches(row, tables[row.table])
    ]
    if problems:
        raise GossamerError(
            f"{nodes.where}, keyspace {keyspace}: {'; '.join(problems)}; nothing was changed, "
            "because these tables belong to another version or program; change "
            "cassandra.keyspace, or move the tables away"
        )


def durability_warnings(nodes: Cassandra, keyspace: str) -> Iterator[str]:
    """Yield a warning for each setting of the nodes that may lose acknowledged writes."""
    try:
        modes = nodes.query(cql.SELECT_SETTING, ["commitlog_sync"])
    except GossamerError:
        return  # The user may not read the setting.
    if sum(_copies_by_centre(nodes, keyspace).values()) == 1 and ("periodic",) in modes:
        yield (
            f"keyspace {keyspace} has one replica, on a node with commitlog_sync: periodic: if the "
            "node is killed, it loses its last acknowledged writes, and URLs with them; set "
            "commitlog_sync: batch in its cassandra.yaml"
        )
