"""Log lines have one dialect: a phrase that is read and searched alone, and details as fields."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.simulation.shrink import EXPLAINING_EVENTS

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("gossamer", "services")
LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
NAMES = frozenset({"Faust", "Kafka's", "URL-seen", "WARC"})
"""Names, which keep their capital letters."""
MIN_LINES = 50
"""Log lines that the walk must find, so that a walk that finds none is an error."""
GET_LOGGER = "structlog.get_logger()"
_word = re.compile(r"[A-Za-z][A-Za-z'-]*")
_end_of_word = re.compile(r"[,;:]$")


class LogCall(NamedTuple):
    """A call that writes a log line."""

    place: str
    call: ast.Call


def log_calls() -> Iterator[LogCall]:
    """Yield all calls of structlog's levels in the product."""
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and is_log_call(node.func):
                    yield LogCall(f"{path.relative_to(ROOT)}:{node.lineno}", node)


def is_log_call(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and called.attr in LEVELS
        and ast.unparse(called.value) in ("logger", GET_LOGGER)
    )


def fault_of(call: ast.Call) -> str:
    """Return what a log call does not say in the dialect, or ""."""
    match call.args:
        case [ast.Constant(value=str(phrase))]:
            pass
        case _:
            return "its phrase is not one literal: details are fields"
    words = [_end_of_word.sub("", word) for word in phrase.split(" ")]
    if len(words) < 2:
        return "one word does not say what happened"
    wrong = [
        word for word in words if not _word.fullmatch(word) or not (word.islower() or word in NAMES)
    ]
    if wrong or _end_of_word.search(phrase):
        return f"not words in lower case: {wrong or phrase}"
    return ""


def test_every_log_line_is_a_phrase_with_fields() -> None:
    calls = list(log_calls())
    assert len(calls) > MIN_LINES
    faults = {one.place: fault for one in calls if (fault := fault_of(one.call))}
    assert not faults


def test_every_logger_has_the_name_by_which_log_lines_are_found() -> None:
    named = {
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for package in PRODUCT
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign)
        and ast.unparse(node.value) == GET_LOGGER
        and ast.unparse(node.targets[0]) != "logger"
    }
    assert not named


def test_story_of_a_simulated_run_is_told_by_present_log_lines() -> None:
    phrases = {
        one.call.args[0].value
        for one in log_calls()
        if one.call.args and isinstance(one.call.args[0], ast.Constant)
    }
    assert set(EXPLAINING_EVENTS) <= phrases


@pytest.mark.parametrize(
    "call",
    [
        'logger.info("failed")',
        'logger.info("login_failed", address=peer)',
        'logger.info("login of %s failed", peer)',
        'logger.info(f"login of {peer} failed")',
        'logger.info("login failed: " + peer)',
        'logger.info("paused" if paused else "continues")',
        'logger.info("Login failed")',
        'logger.info("login failed.")',
        "logger.info(event)",
    ],
)
def test_other_dialects_are_found(call: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call) and is_log_call(node.func) and fault_of(node)
