"""The sources of the console: no markup from text, no external resource, no inline code."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "gossamer" / "console" / "pages"
SCRIPTS = sorted(PAGES.glob("*.js"))
REFUSED = {
    "text as markup": r"innerHTML|insertAdjacent|document\.write|createContextual|srcdoc|setHTML",
    "text as code": r"\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:",
    "an external resource": r"https?://(?!www\.w3\.org/2000/svg|\[)",
    "an import from elsewhere": r"from [\"'](?!\./)",
}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_has_no_dangerous_call(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name, pattern in REFUSED.items():
            assert not re.search(pattern, line), f"{path.name}:{number}: {name}"


def test_index_has_no_inline_code() -> None:
    text = (PAGES / "index.html").read_text()
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?! type=\"module\" src=\"\./)", text)
    assert re.findall(r"(?:src|href)=\"([^\"#][^\"]*)\"", text) == [
        "./icon.svg", "./base.css", "./pages.css", "./app.js",
    ]  # fmt: skip


def test_styles_load_nothing() -> None:
    for path in PAGES.glob("*.css"):
        assert not re.search(r"url\(|@import|@font-face", path.read_text()), path.name
