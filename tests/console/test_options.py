"""How values are read from the command line."""

from argparse import ArgumentTypeError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli.main import main
from console.cli.options import natural, seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("1.5s", 1.5), ("15m", 900), ("15 min", 900), (" 2H ", 7200), ("1d", 86400)],
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "-1", "1w", "1h30m", "nan", "inf", "1e3"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="no duration such as"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "many", "²"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="no whole number from 1"):
        natural(text)


@given(st.text())
def test_any_text_is_a_value_or_is_refused(text: str) -> None:
    for read in (seconds, natural):
        try:
            assert read(text) >= 0
        except ArgumentTypeError:
            continue


@pytest.mark.parametrize("arguments", [["--help"], ["crawl", "--help"], ["--version"]])
def test_help_is_no_failure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "gossamer" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["pages", "--format", "csv"], ["why"]])
def test_bad_usage_is_status_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_an_interrupt_while_it_is_still_being_loaded_is_none_to_complain_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("console.cli.main.import_module", interrupted)
    assert main(["crawl", "http://a.example/"]) == 130
    assert capsys.readouterr().err == ""
