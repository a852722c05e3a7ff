"""WARC files that wait to be uploaded to the volumes of the archive."""

import msgspec

from gossamer.services.archive.rows import SegmentRow
from gossamer.store import Store


class ArchiveBuffer(msgspec.Struct, frozen=True):
    """The complete files of one archive that are not in a volume yet, or not published."""

    writer: str
    """The name of the instance."""
    files: int
    bytes: int
    fault: str = ""
    """Why no volume takes them, or why the archive is paused; "" while all is well."""


def read_buffers(store: Store) -> tuple[ArchiveBuffer, ...]:
    """Return the buffers that have files or a fault, by the names of their writers."""
    found = (
        ArchiveBuffer(row.writer, len(row.waiting), sum(row.waiting.values()), row.fault)
        for row in store.table(SegmentRow).everything()
    )
    waiting = (buffer for buffer in found if buffer.files or buffer.fault)
    return tuple(sorted(waiting, key=lambda buffer: buffer.writer))
