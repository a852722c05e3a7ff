"""A log of an older version is read and migrated."""

from pathlib import Path

from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database

BEFORE_HEADERS = """
CREATE TABLE log_records (
    topic TEXT, partition INTEGER, offset INTEGER, key TEXT, value BLOB,
    PRIMARY KEY (topic, partition, offset)
)
"""


def test_log_without_headers_column_is_migrated(tmp_path: Path) -> None:
    database = Database(tmp_path / "gossamer.db")
    with database.transaction() as db:
        db.execute(BEFORE_HEADERS)
        db.execute("INSERT INTO log_records VALUES ('pages', 0, 0, 'old', ?)", (b"text",))
    log = SqliteLog(database)
    with database.transaction() as db:
        db.execute("INSERT INTO log_ends VALUES ('pages', 0, 1)")
    log.append([Message("pages", "new", b"", "example.org", (("reason", "moved"),))])
    found = {record.key: record.headers for record in SqliteLog(database).tail(["pages"]).poll(0)}
    assert found == {"old": (), "new": (("reason", "moved"),)}
