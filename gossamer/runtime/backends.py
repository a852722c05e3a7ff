"""Opens the log and the store of a fleet, as the settings name them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING

from gossamer.errors import BadSettings
from gossamer.extras import require_extra

if TYPE_CHECKING:
    # Imported at run time only when opened, so that missing libraries give a clear error.
    from gossamer.log.kafka.log import KafkaLog
    from gossamer.settings import Settings
    from gossamer.store.cassandra.store import CassandraStore
    from gossamer.volumes import Volume


@contextmanager
def open_fleet(settings: "Settings", member: str) -> Iterator[tuple["KafkaLog", "CassandraStore"]]:
    """Open log and store. Raise Unavailable if one does not answer. *member* is our name in
    groups."""
    with open_log(settings, member) as log, open_store(settings) as store:
        yield log, store


def open_log(settings: "Settings", member: str = "") -> "AbstractContextManager[KafkaLog]":
    """Open the log."""
    from gossamer.log.kafka.log import KafkaLog

    blobs = open_blobs(settings)
    return closing(KafkaLog(settings.kafka, member, settings.service.poll_limit, blobs))


def open_blobs(settings: "Settings") -> "Volume":
    """Return the volume with the blobs of a fleet. Raise BadSettings if it cannot be used."""
    from gossamer.volumes import Volume

    folder = settings.archive.folder.resolve().parent / "blobs"
    return Volume(settings.blobs.volume or folder.as_uri())


def open_store(settings: "Settings") -> "AbstractContextManager[CassandraStore]":
    """Open the store. Raise BadSettings if none is named."""
    check_fleet(settings)
    from gossamer.store.cassandra.store import CassandraStore

    return closing(CassandraStore(settings.cassandra))


def check_fleet(settings: "Settings") -> None:
    """Raise BadSettings unless *settings* name the servers of a fleet.

    Raise GossamerError if its libraries are missing.
    """
    require_extra("fleet")
    wrong = []
    if not settings.kafka.servers:
        wrong.append("kafka.servers is empty: set brokers, as in GOSSAMER_KAFKA__SERVERS=HOST:PORT")
    if not settings.cassandra.hosts:
        wrong.append(
            "cassandra.hosts is empty: set a node, as in GOSSAMER_CASSANDRA__HOSTS='[\"HOST\"]'"
        )
    if wrong:
        raise BadSettings(f"settings: {'; '.join(wrong)}")
