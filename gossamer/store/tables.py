"""The tables that rows want in a keyspace: which there are, what they lack, and making them."""

from collections.abc import Iterator, Mapping, Sequence

from gossamer.errors import GossamerError
from gossamer.servers import CassandraSettings
from gossamer.store import Row, cql
from gossamer.store.driver import Cassandra

Tables = dict[str, dict[str, cql.Found]]


def found_tables(nodes: Cassandra, keyspace: str) -> Tables:
    """Return the columns of each table of *keyspace*; raise GossamerError if there is none such."""
    if not nodes.ask(cql.FOUND_KEYSPACE, [keyspace]):
        raise GossamerError(
            f"{nodes.where} has no keyspace {keyspace}: run gossamer store apply, "
            "or name another in cassandra.keyspace"
        )
    tables: Tables = {}
    for table, name, kind, role, order in nodes.ask(cql.FOUND, [keyspace]):
        tables.setdefault(table, {})[name] = cql.Found(kind, role, order)
    return tables


def wants(row: type[Row], tables: Tables) -> list[str]:
    """Say what keeps *row* from being kept in these tables."""
    if row.table not in tables:
        return [f"there is no table {row.table}"]
    found = tables[row.table]
    lacks = [f"table {row.table} has no column {name}" for name in cql.missing(row, found)]
    return lacks or [f"table {row.table}: {what}" for what in cql.misfits(row, found)]


def make_tables(
    nodes: Cassandra, settings: CassandraSettings, rows: Mapping[type[Row], str]
) -> Iterator[str]:
    """Make what is missing for *rows*, with the options of each; yield what was done.

    Nothing that is there is removed or changed. Several may be at it at once.
    """
    name = settings.keyspace
    if not nodes.ask(cql.FOUND_KEYSPACE, [name]):
        nodes.change(cql.keyspace(name, settings.datacenter, settings.replication))
        yield f"keyspace {name}: made, copies in {settings.datacenter}: {settings.replication}"
    tables = found_tables(nodes, name)
    _refuse(nodes, name, list(rows), tables)
    for row, options in rows.items():
        if row.table not in tables:
            nodes.change(cql.table(row, name, options))
            yield f"table {row.table}: made"
            continue
        for column in cql.missing(row, tables[row.table]):
            nodes.change(cql.column(row, name, column))
            yield f"table {row.table}: column {column} added"


def _refuse(nodes: Cassandra, keyspace: str, rows: Sequence[type[Row]], tables: Tables) -> None:
    wrongs = [
        f"table {row.table}: {what}"
        for row in rows
        for what in cql.misfits(row, tables.get(row.table) or {})
        if row.table in tables
    ]
    if wrongs:
        raise GossamerError(
            f"{nodes.where}, keyspace {keyspace}: {'; '.join(wrongs)}; nothing was changed: "
            "what is there is another version's, or somebody else's; name another keyspace in "
            "cassandra.keyspace, or move these tables away"
        )


def doubts(nodes: Cassandra, keyspace: str) -> Iterator[str]:
    """Say what of the nodes' own settings would lose what they have acknowledged."""
    (copies,) = nodes.ask(cql.REPLICATION, [keyspace])[0]
    single = {"1"} == {number for name, number in copies.items() if name != "class"}
    try:
        modes = nodes.ask(cql.SETTING, ["commitlog_sync"])
    except GossamerError:
        return  # It is not for everybody to see.
    if single and ("periodic",) in modes:
        yield (
            f"keyspace {keyspace} has one copy, on a node with commitlog_sync: periodic: what it "
            "acknowledged in its last moments is lost when it is killed, and URLs with it; "
            "set commitlog_sync: batch in its cassandra.yaml"
        )
