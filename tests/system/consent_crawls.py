"""Crawls of webs of consent, and what they left behind, read without code of the crawler."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.consent import Conduct, ConsentWeb, RunningConsent
from tests.consent.walls import MARK

from .assertions import captures, warcs
from .crawl import Fields, WebCrawl

DELAY = 0.02
STOPPING_TIME = 60.0
"""Maximum seconds that a crawl needs to stop after its time limit."""
AGENT = "https://bot.example"
SETTINGS = """
[standalone]
# The run ends soon after the last work, even if a host backs off for longer.
patience = 5

[crawl]
{crawl}

[fetcher]
sign = "{sign}"
signing_keys = "{key}"
signature_agent = "{agent}"

[parser]
not_indexed = []

[archive]
not_archived = []
"""
ALL_PURPOSES = """
purposes = ["search", "archive", "train-ai", "ai-input"]
usage_disallowed = "fetch"
usage_unknown = "fetch"
"""
"""Everything is fetched and published, whatever its verdicts."""
STRICT = """
purposes = ["search", "archive", "train-ai"]
"""
"""A page whose use for a purpose is disallowed is not fetched, or not published."""
STRICT_PURPOSES = ("search", "archive", "train-ai")


@dataclass(frozen=True)
class ConsentCrawl:
    """A finished crawl of a web of consent, while its web still runs."""

    web: RunningConsent
    crawl: WebCrawl
    conduct: Conduct
    pages: list[Fields]
    archived: set[str]
    """The URLs of all archived responses with status 200, and of all revisit records."""

    @property
    def published(self) -> set[str]:
        return {page["url"] for page in self.pages}

    def as_json(self) -> dict[str, Any]:
        fields = ("url", "usage", "usage_statements")
        return {
            "port": self.web.port,
            "conduct": self.conduct.as_json(),
            "pages": [{name: page.get(name) for name in fields} for page in self.pages],
            "archived": sorted(self.archived),
            "walls": archived_walls(self.crawl.data),
            "statuses": sorted(set(captures(self.crawl.data))),
        }


@contextmanager
def crawl_consent(
    combinations: int, crawl: str, sign: str = "asked", seconds: float = 120.0
) -> Iterator[ConsentCrawl]:
    """Crawl all pages of a web, for at most *seconds*. The results are valid within the block.

    *crawl* is the section of the settings of that name.
    """
    with TemporaryDirectory(prefix="consent-") as name:
        folder = Path(name)
        private, public = write_keys(folder)
        web = ConsentWeb(combinations=combinations, key=str(public))
        settings = folder / "settings.toml"
        settings.write_text(SETTINGS.format(crawl=crawl, sign=sign, key=private, agent=AGENT))
        with RunningConsent(web, folder / "record") as running:
            seeds = folder / "seeds.txt"
            seeds.write_text("".join(f"{url}\n" for url in running.seeds))
            started = WebCrawl(running, folder / "data", DELAY, config=settings)
            limits = ["--max-time", f"{seconds:.0f}s", "--revisit", "none", "--quiet"]
            options = [*limits, "--seeds", str(seeds)]
            done = started.run(*options, seeds=[], patience=seconds + STOPPING_TIME)
            assert done.code == 0, done
            archived = {url for url, status in captures(started.data) if status == 200}
            yield ConsentCrawl(running, started, running.conduct(), started.pages(), archived)


def write_keys(folder: Path) -> tuple[Path, Path]:
    """Write a new key, and return the files of its private and its public part."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "public.pem"
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def archived_walls(data: Path) -> list[str]:
    """Return the URLs of all archived records with the body of a wall."""
    found = set[str]()
    for path in warcs(data):
        with path.open("rb") as file:
            for record in ArchiveIterator(
                file, record_types=WarcRecordType.any_type, parse_http=False
            ):
                record.parse_http(auto_decode="all")
                if MARK.encode() in record.reader.read():
                    found.add(str(record.headers.get("WARC-Target-URI")).strip("<>"))
    return sorted(found)
