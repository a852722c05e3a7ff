"""Writes the combinations of statements and their verdicts into docs/usage-verdicts.md.

python -m tests.consent.table
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer.schemas.markdown import table

from .statements import HOME, PATHS, WORKS, Form
from .truth import CATEGORIES, Says
from .web import SOURCES, Combination, ConsentWeb

FILE = Path(__file__).resolve().parents[2] / "docs" / "usage-verdicts.md"
TITLES = {
    "robots": "robots.txt",
    "header": "Headers",
    "meta": "Meta elements",
    "tdmrep": "tdmrep.json",
    "license": "License file",
}
NOTHING = "-"
HEAD = """# Usage verdicts

<!-- Written by `python -m tests.consent.table`, from tests/consent. -->

Sites state in several ways what their pages may be used for. These are the statements of a
generated Web that a test crawls, what each of them says, and the verdict that must follow from a
combination of them. The test compares each verdict of the crawl with this page. The meanings were
written by hand, and no code of the crawler takes part in them.

A statement says for a category of use that it is allowed, that it is disallowed, or nothing. If one
statement disallows a use, the use is disallowed. Otherwise, if one allows it, it is allowed.
Otherwise it is unknown. Each host has two pages, `/` and `/works/one.html`. Where a statement or a
verdict differs between them, both are there.

Each unread part of a file counts as reserved, and `gossamer usage URL` names the place
and the reason: "entry 201 and further were not read (more than 200 entries): they count as
reserved". A response without any sign of the format, such as a page in place of the file, says
nothing.
"""


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from HEAD.splitlines()
    yield from ("", "## Statements")
    for source, forms in SOURCES.items():
        yield from ("", f"### {TITLES[source]}", "")
        rows = ((name, _code(form), *_meaning(form)) for name, form in forms.items() if name)
        yield from table(("name", "statement", "says about `/`", "says about `/works/`"), rows)
    combined = ConsentWeb().combined
    yield from ("", "## Combinations", "", f"{len(combined)} hosts:", "")
    head = ("host", *(title.lower() for title in TITLES.values()), *CATEGORIES)
    yield from table(head, (_row(number, one) for number, one in enumerate(combined)))


def _code(form: Form) -> str:
    stated = [*form.text.splitlines(), *(f"{name}: {it}" for name, it in form.headers.items())]
    return "<br>".join(f"`{line}`" for line in stated if line)


def _meaning(form: Form) -> tuple[str, str]:
    return _says(form.says(HOME)), "" if form.works is None else _says(form.works)


def _says(says: Says) -> str:
    named = [f"{category} {'yes' if allowed else 'no'}" for category, allowed in says.items()]
    return ", ".join(named) or "nothing"


def _row(number: int, combination: Combination) -> tuple[str, ...]:
    verdicts = [combination.verdicts(path) for path in PATHS]
    found = (_verdict(*(one[category] for one in verdicts)) for category in CATEGORIES)
    return (str(number), *(name or NOTHING for name in combination), *found)


def _verdict(home: str, works: str) -> str:
    return home if home == works else f"{home}; {WORKS}: {works}"


def text() -> str:
    """Return the page."""
    return _joined(lines())


def _joined(those: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in those)


if __name__ == "__main__":
    FILE.write_text(text())
