"""The tables of a keyspace: which exist, how they differ from the row classes, creating them."""

from collections.abc import Iterator, Mapping, Sequence

from gossamer.errors import BadSettings, GossamerError
from gossamer.settings.servers import CassandraSettings
from gossamer.store import Row
from gossamer.store.cassandra import cql
from gossamer.store.cassandra.session import Cassandra

Tables = dict[str, dict[str, cql.FoundColumn]]


def found_tables(nodes: Cassandra, keyspace: str) -> Tables:
    """Return the columns of each table of *keyspace*; raise GossamerError if that is missing."""
    if not nodes.query(cql.SELECT_KEYSPACE, [keyspace]):
        raise GossamerError(
            f"{nodes.where} has no keyspace {keyspace}: run gossamer store apply, "
            "or name another in cassandra.keyspace"
        )
    tables: Tables = {}
    for table, name, kind, role, order in nodes.query(cql.SELECT_COLUMNS, [keyspace]):
        tables.setdefault(table, {})[name] = cql.FoundColumn(kind, role, order)
    return tables


def check_consistency(nodes: Cassandra, settings: CassandraSettings) -> None:
    """Raise BadSettings unless every read meets a copy that every write before it has reached."""
    consistency, keyspace = settings.consistency, settings.keyspace
    centres = _copies_by_centre(nodes, keyspace)
    copies = sum(centres.values())
    if consistency == "LOCAL_QUORUM" and len(centres) > 1:
        raise BadSettings(
            f"cassandra.consistency is LOCAL_QUORUM, and keyspace {keyspace} has copies in "
            f"{len(centres)} data centres ({', '.join(sorted(centres))}): processes that ask "
            "different ones would both hold a claim, and both visit one host; set "
            "cassandra.consistency to QUORUM for all processes, or keep the copies in "
            f"{settings.datacenter} only (ALTER KEYSPACE)"
        )
    if consistency in ("ONE", "LOCAL_ONE") and copies > 1:
        raise BadSettings(
            f"cassandra.consistency is {consistency}, and keyspace {keyspace} has "
            f"{copies} copies: what one of them was told another may not know, so that a claim is "
            "missed and two ask one host; set cassandra.consistency to LOCAL_QUORUM"
        )


def _copies(nodes: Cassandra, keyspace: str) -> int:
    """Return how many copies *keyspace* has, in all data centres together."""
    return sum(_copies_by_centre(nodes, keyspace).values())


def _copies_by_centre(nodes: Cassandra, keyspace: str) -> dict[str, int]:
    """Return how many copies *keyspace* has in each data centre that has any.

    SimpleStrategy, which knows no data centres, counts as one.
    """
    (replication,) = nodes.query(cql.SELECT_REPLICATION, [keyspace])[0]
    # Transient replication writes 3/1: three, one of them transient.
    numbers = {name: text.split("/")[0] for name, text in replication.items() if name != "class"}
    return {name: int(text) for name, text in numbers.items() if text.isdigit() and int(text)}


def table_problems(row: type[Row], tables: Tables) -> list[str]:
    """Return why *row* cannot be stored in these tables, a sentence each; [] if it can."""
    if row.table not in tables:
        return [f"there is no table {row.table}"]
    found = tables[row.table]
    # What no new column can mend is said first: more columns would be of no use.
    mismatches = [f"table {row.table}: {what}" for what in cql.mismatches(row, found)]
    return mismatches or [
        f"table {row.table} has no column {name}" for name in cql.missing_columns(row, found)
    ]


def make_tables(
    nodes: Cassandra,
    settings: CassandraSettings,
    rows: Mapping[type[Row], cql.Options],
    reset: bool = False,
) -> Iterator[str]:
    """Create what is missing for *rows*, with the options of each; yield a line for each change,
    and for each option that differs and is left as it is.

    Tables that exist get missing columns and their `FIXED` options; with *reset*, all options.
    Several processes may do this at once.
    """
    name = settings.keyspace
    if not nodes.query(cql.SELECT_KEYSPACE, [name]):
        nodes.change(cql.create_keyspace(name, settings.datacenter, settings.replication))
        yield f"keyspace {name}: made, copies in {settings.datacenter}: {settings.replication}"
    check_consistency(nodes, settings)
    tables = found_tables(nodes, name)
    _refuse_mismatches(nodes, name, list(rows), tables)
    found = _found_options(nodes, name)
    for row, options in rows.items():
        if row.table not in tables:
            nodes.change(cql.create_table(row, name, options))
            yield f"table {row.table}: made"
            continue
        for column in cql.missing_columns(row, tables[row.table]):
            nodes.change(cql.add_column(row, name, column))
            yield f"table {row.table}: column {column} added"
        there = found[row.table]
        differing = options.differing(there)
        if altered := [one for one in differing if reset or one in cql.FIXED]:
            nodes.change(cql.alter_table(row, name, options, altered))
            yield f"table {row.table}: {', '.join(altered)} altered"
        for one in differing:
            if one not in altered:
                yield f"{_stays(row, options, there, one)}; --reset-options changes it"


def option_problems(
    nodes: Cassandra, keyspace: str, rows: Mapping[type[Row], cql.Options]
) -> tuple[list[str], list[str]]:
    """Return which options of the tables of *rows* that are there differ: those that the services
    rely on, and those that an operator may keep; a phrase each."""
    fixed, kept = list[str](), list[str]()
    found = _found_options(nodes, keyspace)
    for row, options in rows.items():
        if row.table in found:
            there = found[row.table]
            for one in options.differing(there):
                if one in cql.FIXED:
                    fixed.append(f"table {row.table}: {one} {_values(options, there, one)}")
                else:
                    kept.append(_stays(row, options, there, one))
    return fixed, kept


def _found_options(nodes: Cassandra, keyspace: str) -> dict[str, cql.FoundOptions]:
    return {
        table: cql.FoundOptions(*options)
        for table, *options in nodes.query(cql.SELECT_OPTIONS, [keyspace])
    }


def _stays(row: type[Row], wanted: cql.Options, there: cql.FoundOptions, name: str) -> str:
    values = f"{there.properties()[name]}, and stays so (not {wanted.properties()[name]})"
    return f"table {row.table}: {name} is {values}"


def _values(wanted: cql.Options, there: cql.FoundOptions, name: str) -> str:
    return f"is {there.properties()[name]}, not {wanted.properties()[name]}"


def _refuse_mismatches(
    nodes: Cassandra, keyspace: str, rows: Sequence[type[Row]], tables: Tables
) -> None:
    problems = [
        f"table {row.table}: {what}"
        for row in rows
        for what in cql.mismatches(row, tables.get(row.table) or {})
        if row.table in tables
    ]
    if problems:
        raise GossamerError(
            f"{nodes.where}, keyspace {keyspace}: {'; '.join(problems)}; nothing was changed: "
            "what is there is another version's, or somebody else's; name another keyspace in "
            "cassandra.keyspace, or move these tables away"
        )


def durability_warnings(nodes: Cassandra, keyspace: str) -> Iterator[str]:
    """Yield a warning for each setting of the nodes that may lose acknowledged writes."""
    try:
        modes = nodes.query(cql.SELECT_SETTING, ["commitlog_sync"])
    except GossamerError:
        return  # This user may not read it.
    if _copies(nodes, keyspace) == 1 and ("periodic",) in modes:
        yield (
            f"keyspace {keyspace} has one copy, on a node with commitlog_sync: periodic: what it "
            "acknowledged in its last moments is lost when it is killed, and URLs with it; "
            "set commitlog_sync: batch in its cassandra.yaml"
        )
