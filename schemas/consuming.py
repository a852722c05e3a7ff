"""Writes the fields of the public events into `docs/consuming.md`, from their JSON Schema.

python -m schemas.consuming      (run by scripts/schemas)
"""

from collections.abc import Iterator
from pathlib import Path

from gossamer.events import Event, Page, PageArchived
from schemas.compatible import Schema
from schemas.generate import schema_of
from schemas.markdown import insert_lines, table

HEAD = ("field", "type", "meaning")
DOCS = Path(__file__).parents[1] / "docs" / "consuming.md"


def main() -> None:
    """Write the tables between their marks."""
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8")), encoding="utf-8")


def with_tables(text: str) -> str:
    """Return *text* with up-to-date tables."""
    for event in (Page, PageArchived):
        tag = event.__struct_config__.tag
        text = insert_lines(text, f"fields of {tag}", table(HEAD, _rows(event)))
    return text


def _rows(event: type[Event]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each field of *event*, and then for the fields of its parts."""
    parts = schema_of(event)["$defs"]
    for name in (event.__name__, *(name for name in parts if name != event.__name__)):
        for field, about in parts[name].get("properties", {}).items():
            if field != "event":
                owner = "" if name == event.__name__ else f"{name}."
                yield f"`{owner}{field}`", _type(about), about.get("description", "")


def _type(about: Schema) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"])
    if about["type"] == "array":
        return f"list of {_type(about['items'])}"
    if about["type"] == "object":
        return "object of strings"
    return " ".join(filter(None, (about["type"], about.get("format", ""))))


if __name__ == "__main__":
    main()
