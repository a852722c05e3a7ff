"""Checks the English of code and documentation: refused phrases, and descriptions.

python -m gossamer.schemas.prose      (what scripts/check runs)

It prints one line for each finding, and exits with 1 if there is any. The refused phrases and their
replacements are a table in `docs/vocabulary.md`. A description is the HELP text of a metric, or the
text of a setting, an event, a field or a column: it is read without its neighbours.
"""

import inspect
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from gossamer.events.topics import TOPIC_OF
from gossamer.procedures.tables import tables
from gossamer.schemas.configuration import sections
from gossamer.schemas.formats import descriptions_of_fields
from gossamer.settings import Settings
from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS

ROOT = Path(__file__).resolve().parents[1]
WORDS = "docs/vocabulary.md"
UNCHECKED = re.compile(r"docs/vocabulary\.md$|(?:schemas/|tests/schemas/test_)prose\.py$")
MIN_WORDS = 3
DEPENDENT = re.compile(
    r"(?:…|\.\.\.|(?:and|as of|it|so|that|the same|there|these|they|this|those)\b)", re.I
)
"""Beginnings of a description that needs the one before it."""


def main() -> int:
    """Print all findings; return the exit status."""
    findings = [*refused_phrases(), *poor_descriptions()]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def refused_phrases() -> Iterator[str]:
    """Yield `file:line: phrase` for each refused phrase in prose and in strings of code."""
    replacements = phrases((ROOT / WORDS).read_text(encoding="utf-8"))
    spaced = (r"\s+".join(phrase.split()) for phrase in replacements)
    refused = re.compile(rf"\b(?:{'|'.join(spaced)})\b", re.I)
    for name in _files():
        for line, text in _texts(name):
            for found in refused.finditer(text):
                phrase = re.sub(r"\s+", " ", found[0]).lower()
                at = line + text.count("\n", 0, found.start())
                yield f"{name}:{at}: {phrase!r}: write {replacements[phrase]}"


def phrases(vocabulary: str) -> dict[str, str]:
    """Return refused phrase → replacement, from the table in the text of the vocabulary."""
    _, _, section = vocabulary.partition("## Refused phrases")
    rows = re.findall(r"^\| ([^|*-][^|]*) \| ([^|]+) \|$", section, re.M)
    return {phrase.strip(): better.strip() for phrase, better in rows if phrase != "phrase"}


def poor_descriptions() -> Iterator[str]:
    """Yield a line for each description that is not a sentence that stands alone."""
    for name, text in descriptions():
        if problem := problem_of(text):
            yield f"{name}: {problem}: {text!r}"


def descriptions() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every description."""
    for name, metric in {**COUNTERS, **GAUGES, **HISTOGRAMS}.items():
        yield f"metric {name}", metric.help
    for section, schema in sections().items():
        for setting, found in schema["properties"].items():
            yield f"setting {section}.{setting}", found.get("description", "")
    for event in TOPIC_OF:
        yield f"event {event.__name__}", _first_paragraph(event)
        for field, text in descriptions_of_fields(event).items():
            yield f"field {event.__name__}.{field}", text
    for row in tables(Settings()):
        yield f"table {row.table}", _first_paragraph(row)
        for field, text in descriptions_of_fields(row).items():
            yield f"column {row.table}.{field}", text


def problem_of(text: str) -> str:
    """Return why *text* is not a sentence that stands alone; "" if it is."""
    if not text:
        return "no description"
    if DEPENDENT.match(text):
        return "it does not stand alone"
    if not re.match(r"[A-Z0-9`*\"]", text) or not text.rstrip('`"').endswith((".", ".)")):
        return "it is not a sentence"
    return "" if len(text.split()) >= MIN_WORDS else "it is too short"


def _first_paragraph(kind: type[object]) -> str:
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def _files() -> list[str]:
    command = ["git", "ls-files", "*.py", "*.md"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return [name for name in names if not UNCHECKED.search(name) and (ROOT / name).is_file()]


def _texts(name: str) -> Iterator[tuple[int, str]]:
    """Yield pieces of prose of a file, each with the number of its first line."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".py"):
        yield 1, text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


if __name__ == "__main__":
    sys.exit(main())
