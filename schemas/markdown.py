"""Markdown tables, and their insertion into hand-written files."""

from collections.abc import Iterable


def row(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """Yield the lines of a table."""
    yield row(*head)
    yield f"|{'---|' * len(head)}"
    yield from (row(*cells) for cells in rows)


def insert_lines(text: str, name: str, lines: Iterable[str]) -> str:
    """Return *text* with *lines* between the marks of *name*. Raise ValueError if it has no such
    marks."""
    begin = f"<!-- {name}: written by scripts/schemas -->\n"
    end = f"<!-- end of {name} -->"
    before, after = text.index(begin) + len(begin), text.index(end)
    return text[:before] + "".join(f"{line}\n" for line in lines) + text[after:]
