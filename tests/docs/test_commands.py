"""The commands in the documentation exist, with their options."""

import re
from pathlib import Path

import pytest

from gossamer.console.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/operations/*.md"),
    *ROOT.glob("docs/recipes/*.md"),
]
COMMAND = re.compile(
    r"(?<![\w./-])(?:\.venv/bin/)?(gossamer (?=[a-z])|scripts/crawl )([^\n`|&;#]*)"
)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def commands(text: str) -> set[tuple[str, str, str]]:
    """Return the commands in a document, each with its first word, which may be an action, and
    with one of its options, or with none."""
    found = set()
    for program, arguments in COMMAND.findall(text.replace("\\\n", " ")):
        words = QUOTED.sub("", arguments).split()
        name = "crawl" if program == "scripts/crawl " else words.pop(0)
        if name in COMMANDS:
            options = {word for word in words if re.fullmatch(r"--[a-z-]+", word)}
            action = words[0] if words and words[0].isalpha() else ""
            found |= {(name, action, option) for option in options or {""}}
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_their_options_exist(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, action, option in sorted(commands(document.read_text(encoding="utf-8"))):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = capsys.readouterr().out
        if option not in shown and action:
            with pytest.raises(SystemExit):
                main([name, action, "--help"])
            shown += capsys.readouterr().out
        assert option in shown, f"gossamer {name} {action} {option}"


def test_every_command_is_documented() -> None:
    documented = {name for path in DOCUMENTS for name, *_ in commands(path.read_text())}
    assert set(COMMANDS) - documented == set()


MODULE = re.compile(r"(?:python -m |`)((?:bench|services|schemas|tests)\.[a-z_.]*[a-z_])(?![\w(/])")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_exist(document: Path) -> None:
    for name in MODULE.findall(document.read_text(encoding="utf-8")):
        module = ROOT / name.replace(".", "/")
        assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), name
