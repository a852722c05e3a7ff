"""Archives that other tools wrote: what `gossamer import` makes of them, beside what warcio reads.

Each file has the captures that warcio reads, with equal bodies, or a row in `DIFFERENCES`. Captures
that are missing are a problem or are left out by their kind: none is lost silently.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple
from zipfile import BadZipFile, ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed

from gossamer.console.import_sources import sources_of
from gossamer.events import PageFetched
from gossamer.web.url import BadUrl, canonicalize
from tests.console.test_import import make_importer
from tests.suites import load_suites

SUITES = [name for name in load_suites()[1] if name.startswith("archives-")]
FILES = [(name, file) for name in SUITES for file in load_suites()[1][name].files]


class Difference(NamedTuple):
    """The difference between the import's and warcio's reading of a file."""

    missing: int
    """Captures that only warcio reads."""
    more: int
    """Captures that only the import reads."""
    other: int
    """Captures with another body."""
    reason: str


NOW = 2_000_000_000.0
"""A time behind that of each capture."""
ELSEWHERE = "revisit records whose responses are in another file"
FORMS = "answers to forms and reports (POST), which are not the document at their URL"
SAME_SECOND = (
    "captures in one second, which are moved by a microsecond, or skipped if they are equal"
)
CUT = "the only record is cut, so that its end is unknown"
DIFFERENCES = {
    "BL-20140325122341434-00000-32090~opera~8443.warc.gz": Difference(54, 0, 0, ELSEWHERE),
    "dupes.warc.gz": Difference(8, 0, 0, ELSEWHERE),
    "example-url-agnostic-revisit.warc.gz": Difference(1, 0, 0, ELSEWHERE),
    "example-extra.warc": Difference(4, 0, 0, f"two {ELSEWHERE}, and two {FORMS}"),
    "post-test.warc.gz": Difference(3, 0, 0, FORMS),
    "post-test-more.warc": Difference(3, 0, 0, FORMS),
    "embed-test.warc": Difference(7, 1, 0, f"five {FORMS}, and two {SAME_SECOND}"),
    "netpreserve-twitter.warc": Difference(6, 4, 0, f"two {FORMS}, and four {SAME_SECOND}"),
    "clipped.warc.gz": Difference(1, 0, 0, CUT),
    "example-space-in-url.arc": Difference(1, 0, 0, CUT),
    "example-wrong-chunks.warc.gz": Difference(
        0, 0, 1, "one record in two gzip members: warcio reads the first, the digest is of both"
    ),
    "transfer_compression_none_truncated.warc.gz": Difference(1, 0, 0, CUT),
    "Evil-Warc-Headers.warc": Difference(1, 0, 0, f"{CUT}: its Content-Length is too large"),
    "missing-http.warc.gz": Difference(1, 0, 0, "an empty record without an HTTP head"),
    "bad.arc": Difference(
        2, 0, 1, "lengths that are -1 or no number, an invalid date, and a line feed as document"
    ),
    "example-bad-non-chunked.warc.gz": Difference(0, 2, 0, "warcio refuses a whole gzip file"),
    "example-bad.warc.gz.bad": Difference(0, 3, 0, "warcio refuses a whole gzip file"),
    "IAH-20080430204825-00000-blackbook-truncated.arc": Difference(
        0, 7, 0, "warcio stops at a length of its first record that is too small"
    ),
    "link-extraction-test.warc": Difference(
        0, 3, 0, "warcio stops behind a Content-Length that is too large"
    ),
    "clueweb-quirk.warc.gz": Difference(
        29, 29, 0, "dates that do not exist: the time is that of the Date header"
    ),
    "invalid-warcfile-digest-fields.warc": Difference(3, 3, 0, SAME_SECOND),
    "invalid-warcrecorddigests-1.warc": Difference(6, 6, 0, SAME_SECOND),
    "valid-warcrecorddigests-1.warc": Difference(6, 6, 0, SAME_SECOND),
    "invalid-warcfile-segment-number-response.warc": Difference(
        2, 0, 0, "first segments of records whose other segments are missing"
    ),
    "invalid-warcheaderfieldpolicy-3.warc": Difference(1, 0, 0, CUT),
    "invalid-warcrecord-3.warc": Difference(
        1, 0, 0, "cut records, which are damaged, and equal captures in one second"
    ),
    "bad_http_chunked_content.warc": Difference(
        0, 0, 1, "chunks of a wrong size, which are kept as they were received"
    ),
}


def read_by_warcio(file: IO[bytes]) -> Iterator[tuple[str, float, bytes | None]]:
    """Yield URL, time and body of each capture, up to an error; None for a body elsewhere."""
    try:
        for record in ArchiveIterator(file, arc2warc=True):
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            is_capture = record.rec_type in ("response", "resource", "revisit")
            if not (is_capture and url.startswith(("http:", "https:"))):
                continue
            body = None if record.rec_type == "revisit" else _body(record)
            yield _canonical(url), _time(record.rec_headers.get_header("WARC-Date")), body
    except ArchiveLoadFailed:
        return


def _body(record: object) -> bytes:
    headers, stream = record.http_headers, record.raw_stream  # type: ignore[attr-defined]
    if headers and (headers.get_header("Transfer-Encoding") or "").lower() == "chunked":
        stream = ChunkedDataReader(stream)
    return b"".join(iter(stream.read, b""))


def _canonical(url: str) -> str:
    try:
        return canonicalize(url)
    except BadUrl:
        return url


def _time(date: str) -> float:
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def all_by_warcio(path: Path) -> list[tuple[str, float, bytes | None]]:
    """Return the captures in *path*, which may be a WACZ file."""
    if path.suffix != ".wacz":
        with path.open("rb") as file:
            return list(read_by_warcio(file))
    try:
        with ZipFile(path) as packed:
            members = [packed.read(name) for name in packed.namelist() if ".warc" in name]
    except BadZipFile:
        return []
    return [one for member in members for one in read_by_warcio(BytesIO(member))]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("suite", "name"), FILES)
def test_archive_has_the_captures_that_warcio_reads(
    suite: str, name: str, suite_folder: Callable[[str], Path]
) -> None:
    path = suite_folder(suite) / name
    importer = make_importer()
    events = [
        event for source in sources_of(path) for event in importer.events_of(source, NOW)
    ]  # fmt: skip
    events += importer.events_of_rest(NOW)
    pages = [event for event in events if isinstance(event, PageFetched)]
    ours = Counter((page.visit.url, page.started_at) for page in pages)
    bodies = Counter((page.visit.url, page.body) for page in pages)
    theirs = all_by_warcio(path)
    missing = Counter((url, at) for url, at, _ in theirs) - ours
    more = ours - Counter((url, at) for url, at, _ in theirs)
    read = [(url, at, body) for url, at, body in theirs if body is not None]
    other = Counter((url, body) for url, at, body in read if (url, at) not in missing) - bodies
    found = (missing.total(), more.total(), other.total())
    difference = DIFFERENCES.get(Path(name).name, Difference(0, 0, 0, ""))
    assert found == difference[:3], (missing, more, importer.problems, importer.left_out)
    is_named = importer.problems or importer.left_out
    assert is_named or missing.total() <= more.total()


def test_each_difference_is_one_of_a_listed_file() -> None:
    assert DIFFERENCES.keys() <= {Path(name).name for _, name in FILES}
