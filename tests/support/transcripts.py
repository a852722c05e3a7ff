"""Transcripts: what commands print, in files beside the tests.

`tests/console/transcripts/why.txt` has a section for each test of `tests/console/test_why.py` that
uses the fixture `transcript`. A section has the test's commands, each with its whole output: the
lines of stderr begin with "! ", and an exit status other than 0 follows. A test fails if its
section differs. Text that no command printed follows the description of its situation, which begins
with "# ". `pytest --rewrite-transcripts` writes the sections of the tests that run.
"""

import ast
import getpass
import json
import os
import re
import shlex
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gossamer.console.cli.main import main

SECTION = "== "
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
VARYING = (
    (re.compile(r"127\.0\.0\.1:\d{4,5}\b"), "127.0.0.1:PORT"),
    (re.compile(r"127\.0\.0\.1, port \d{4,5}\b"), "127.0.0.1, port PORT"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:DIGEST"),
    (re.compile(r"quiesced for [0-9.]+ s"), "quiesced for N s"),
    (re.compile(r"\(process \d+\)"), "(process PID)"),
    (re.compile(r"(database|WARC files?) \([0-9.]+ [kMG]?B\)"), r"\1 (SIZE)"),
    (re.compile(r"is damaged \(.*?\): use", re.DOTALL), "is damaged (REASON): use"),
    (re.compile(r"at byte \d+"), "at byte N"),
    (re.compile(r"after \d+ms"), "after 0ms"),
    (re.compile(r"(Gossamer is|suffix list of) [^\s,]+"), r"\1 VERSION"),
)
"""What differs between runs → what a transcript has instead, beside the test's folder."""
CONTROL_CHARACTERS = re.compile(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Transcript:
    """The commands of one test with their output."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._names = {str(folder): "/TMP"}
        self.parts: list[str] = []

    def __call__(self, *words: object, status: int = 0) -> str:
        """Run `gossamer` with *words*, add it, and return its output and its errors.

        Raise AssertionError if its exit status is not *status*.
        """
        code, out, err = self._run(words)
        self.add(_command(words), out, err, code)
        assert code == status, self.parts[-1]
        return out + err

    def json(self, *words: object) -> Any:
        """Run `gossamer` with *words*, add it without its output, and return the JSON of that."""
        return json.loads(self._data(words))

    def json_lines(self, *words: object) -> list[Any]:
        """Run `gossamer` like `json`, and return the JSON of each line."""
        return [json.loads(line) for line in self._data(words).splitlines()]

    def _data(self, words: Iterable[object]) -> str:
        code, out, err = self._run(words)
        self.add(_command(words), "{...}", err, code)
        assert code == 0, err
        return out

    def _run(self, words: Iterable[object]) -> tuple[int, str, str]:
        self._capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def add(self, title: str, out: str | Iterable[str], err: str = "", status: int = 0) -> None:
        """Add *title*, which is a command, or describes a situation, with its output."""
        lines = _lines(out) if isinstance(out, str) else [*out]
        errors = [f"! {line}" for line in _lines(err)]
        mark = "$" if title.startswith("gossamer") else "#"
        exit_status = [f"exit {status}"] if status else []
        text = "\n".join([f"{mark} {title}", *lines, *errors, *exit_status])
        for varying, name in self._names.items():
            text = text.replace(varying, name)
        for pattern, name in VARYING:
            text = pattern.sub(name, text)
        text = MOMENT.sub(_moment, text)
        text = CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], text)
        self.parts.append("\n".join(line.rstrip() for line in text.split("\n")))

    def name(self, varying: object, name: str) -> None:
        """Write *name* instead of *varying*, which differs between runs."""
        self._names[str(varying)] = name


def _moment(found: re.Match[str]) -> str:
    """Return a time of this run as "NOW", and any other time unchanged."""
    at = datetime.strptime(found[0], "%Y-%m-%d %H:%M:%S %Z").replace(tzinfo=UTC).timestamp()
    return "NOW" if abs(at - time.time()) < 3600.0 else found[0]


def _command(words: Iterable[object]) -> str:
    return shlex.join(["gossamer", *map(str, words)])


def _lines(text: str) -> list[str]:
    """Return the lines of *text*; control characters do not end them."""
    return text.rstrip("\n").split("\n") if text else []


@cache
def transcript_tests(module: Path) -> list[str]:
    """Return the tests of *module* that use `transcript`, also through fixtures of *module* and of
    the `conftest.py` beside it."""
    shared = module.with_name("conftest.py")
    uses = {
        node.name: [argument.arg for argument in node.args.args]
        for file in (shared, module)
        if file.exists()
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    def has_transcript(name: str) -> bool:
        return "transcript" in uses.get(name, ()) or any(map(has_transcript, uses.get(name, ())))

    return [name for name in uses if name.startswith("test_") and has_transcript(name)]


def transcript_file(module: Path) -> Path:
    """Return the file of the transcripts of *module*."""
    return module.parent / "transcripts" / f"{module.stem.removeprefix('test_')}.txt"


def read_sections(file: Path) -> dict[str, str]:
    """Return test → its section in *file*."""
    text = file.read_text() if file.exists() else ""
    sections = {}
    for section in ("\n" + text).split(f"\n{SECTION}")[1:]:
        title, _, body = section.partition("\n")
        sections["test_" + title.replace(" ", "_")] = body.strip("\n")
    return sections


def _write_sections(file: Path, sections: dict[str, str]) -> None:
    if not sections:
        return
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "\n".join(
            f"{SECTION}{test.removeprefix('test_').replace('_', ' ')}\n\n{body}\n"
            for test, body in sections.items()
        )
    )


def add_option(parser: pytest.Parser) -> None:
    """Add the option that rewrites transcripts."""
    text = "write the transcripts of the tests that run, instead of comparing them"
    parser.addoption("--rewrite-transcripts", action="store_true", help=text)


def check_option(config: pytest.Config) -> None:
    """Raise UsageError if transcripts would be rewritten by CI or by several processes at once."""
    if config.getoption("--rewrite-transcripts"):
        if os.environ.get("CI") == "true":
            raise pytest.UsageError("--rewrite-transcripts: CI compares transcripts")
        if getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("--rewrite-transcripts needs -n 0: tests share a file")


@pytest.fixture
def transcript(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Transcript]:
    """Return the transcript of ann@desk in the test, and compare it after the test.

    A test with parameters has no transcript: a loop over its situations has.
    """
    monkeypatch.setattr(sys, "argv", ["gossamer"])
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    monkeypatch.setattr(socket, "gethostname", lambda: "desk")
    recorded = Transcript(tmp_path, capsys)
    failed_before = request.session.testsfailed
    yield recorded
    if request.session.testsfailed > failed_before:
        return
    file, tests = transcript_file(request.path), transcript_tests(request.path)
    sections, test = read_sections(file), request.node.name
    body = "\n\n".join(recorded.parts).strip("\n")
    if body and hasattr(request.node, "callspec"):
        pytest.fail("a test with parameters has no transcript: loop over them", pytrace=False)
    if request.config.getoption("--rewrite-transcripts"):
        sections[test] = body
        _write_sections(file, {name: sections[name] for name in tests if sections.get(name)})
        return
    hint = f"{file.name} differs; if this is right, pytest --rewrite-transcripts writes it"
    expected = sections.get(test, "")
    if body != expected:
        lines = unified_diff(expected.splitlines(), body.splitlines(), "file", "now", lineterm="")
        pytest.fail("\n".join([hint, *lines]), pytrace=False)
    assert [*sections] == [name for name in tests if name in sections], hint
