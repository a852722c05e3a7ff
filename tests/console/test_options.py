"""Values of options, unknown options, and help."""

import signal
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.console import cli
from gossamer.console.cli.main import COMMANDS, main
from gossamer.console.cli.options import non_negative, port, positive, seconds
from tests.support.transcripts import Transcript

LARGE = {"aiohttp", "numpy", "prometheus_client", "pydantic"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("90", 90),
        ("1.5s", 1.5),
        ("15m", 900),
        ("15 min", 900),
        (" 2H ", 7200),
        ("1d", 86400),
        ("2 weeks", 1209600),
    ],
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


REFUSED: dict[Callable[[str], float], tuple[str, list[str]]] = {
    seconds: ("not a duration", ["", "s", "-1", "1y", "1h30m", "nan", "inf", "1e3"]),
    positive: ("not a whole number ≥ 1", ["", "0", "-1", "1.5", "many", "²"]),
    non_negative: ("not a whole number ≥ 0", ["", "-1", "1.5", "many", "²"]),
    port: ("not a port from 1 to 65535", ["", "0", "-1", "80.0", "65536", "http", "²"]),
}


@pytest.mark.parametrize(
    ("read", "text"), [(read, text) for read, (_, texts) in REFUSED.items() for text in texts]
)
def test_invalid_values_are_refused(read: Callable[[str], float], text: str) -> None:
    assert (non_negative("0"), port("65535")) == (0, 65535)
    with pytest.raises(ArgumentTypeError, match=REFUSED[read][0]):
        read(text)


@given(st.text())
def test_any_text_gives_a_value_or_is_refused(text: str) -> None:
    for read in REFUSED:
        try:
            assert read(text) >= 0
        except ArgumentTypeError:
            continue


@pytest.mark.parametrize("arguments", [["--help"], ["crawl", "--help"], ["--version"]])
def test_help_and_version_return_0(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "gossamer" in capsys.readouterr().out


def test_bad_usage_returns_2(transcript: Transcript) -> None:
    transcript(status=2)
    transcript("why", status=2)
    with pytest.raises(SystemExit) as ended:  # Versions of Python word this differently.
        main(["pages", "--format", "csv"])
    assert ended.value.code == 2


def test_abbreviated_options_and_commands_are_refused_with_the_full_name(
    transcript: Transcript,
) -> None:
    for words in (
        ("crawl", "--max-page", "5", "a.example"),
        ("why", "--verbos", "a.example"),
        ("dead-letters", "list", "--jso"),
        ("status", "--nonsense"),
        ("statu",),
        ("status", "a.example"),
    ):
        transcript(*words, status=2)


def test_help_lists_the_commands_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    groups = [shown.index(f"\n{group}:\n") for group in ("crawl", "inspect", "change", "fleet")]
    assert groups == sorted(groups)
    assert shown.index("  topics ") > groups[-1]


def test_interrupt_during_the_import_of_a_command_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gossamer.console.cli.main.import_module", interrupt)
    assert main(["crawl", "http://a.example/"]) == 130
    assert capsys.readouterr().err == ""


def test_interrupt_after_the_command_ended_prints_no_traceback() -> None:
    ended = """
import atexit, signal, sys
from gossamer.console.cli.main import main
atexit.register(signal.raise_signal, signal.SIGINT)
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", ended, "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("gossamer")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_every_command_module_is_registered_and_has_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    modules = (
        import_module(f"gossamer.console.cli.{one.name}") for one in iter_modules(cli.__path__)
    )
    names = {
        module.__name__.rpartition(".")[2].replace("_", "-")
        for module in modules
        if hasattr(module, "run") and hasattr(module, "add_options")
    }
    assert names == {*COMMANDS}
    for name in COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        assert COMMANDS[name][:30] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "why", "history", "pages"])
def test_commands_that_read_a_folder_import_no_large_library(command: str) -> None:
    """Each library alone would take as long to import as the command may take."""
    code = f"import sys, gossamer.console.cli.{command}; print(sorted(LARGE & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code.replace("LARGE", repr(LARGE))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
