"""A consumer in another language, the example of `docs/consuming.md`, on a real Kafka."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from gossamer.events import Page, Tombstone, Verdict
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.settings.servers import KafkaSettings
from gossamer.web.url import fingerprint, site_of

from .kafka_broker import own_topics

ROOT = Path(__file__).parents[2]
QUIET = "15"
"""Seconds without a record after which the consumer ends; a group forms faster."""


def page(url: str, title: str) -> Page:
    return Page(
        at=1.0,
        url=url,
        site=site_of(url),
        status=200,
        fetched_at=1.0,
        title=title,
        links=(),
        verdict=Verdict.FIRST,
        duplicate_of="",
        depth=0,
        via="",
        trace=fingerprint(url),
    )


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    return own_topics(kafka, partitions=6)


def libraries() -> str:
    """Return the folder with Kafka's client; Jackson is beside it."""
    command = [str(ROOT / "scripts" / "servers" / "fetch"), "kafka"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def consume(folder: Path, settings: KafkaSettings) -> list[str]:
    """Return the output of the example in the documentation."""
    documented = (ROOT / "docs" / "consuming.md").read_text(encoding="utf-8")
    program = folder / "Consume.java"
    program.write_text(documented.partition("```java\n")[2].partition("```")[0], encoding="utf-8")
    topic = f"{settings.prefix}pages"
    command = ["java", "-cp", f"{libraries()}/*", str(program)]
    group = [settings.servers, topic, "default", "index", QUIET]
    done = subprocess.run(
        [*command, *group], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    # Kafka's client logs errors to standard output, for example a moved coordinator.
    return [line for line in done.stdout.splitlines() if " [main] ERROR " not in line]


@pytest.mark.long
def test_java_consumer_reads_published_documents(
    settings: KafkaSettings, log: KafkaLog, tmp_path: Path
) -> None:
    pages = [page(f"http://site{n}.example/", f"Größe {n}") for n in range(20)]
    other = page("http://www.bücher.example.xn--p1ai/", "ещё")
    gone = Tombstone("default", pages[0].url, pages[0].site, reason="removed", trace=pages[0].trace)
    foreign = msgspec.structs.replace(other, crawl="news", title="of another crawl")
    log.append([*map(encode, (*pages, other, foreign)), encode(gone)])
    lines = consume(tmp_path, settings)
    assert sorted(lines) == sorted(
        [
            *(f"first {one.trace} {one.title}" for one in (*pages, other)),
            f"gone {gone.trace} {gone.url} removed",
        ]
    )
