"""Logs are lines: for programs or for a person, from us and from libraries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


SAYING = """
import structlog
from gossamer.telemetry.logs import configure_logs
configure_logs({}, {!r})
body = "a page of the Web"
log = structlog.get_logger()
log.debug("quiet")
log.info("hello", url="http://a/\\nb", raw=b"\\xff", odd=object, text="\\u2028é")
try:
    raise ValueError("two\\nlines")
except ValueError as error:
    log.warning("dead letter", exc_info=error)
"""


def log_lines(as_json: bool, level: str) -> list[str]:
    """Return the lines that a process says on standard error; its output stays clean."""
    code = SAYING.format(as_json, level)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b""
    return done.stderr.decode().splitlines()


SHARING = """
import sys
import structlog
from gossamer.telemetry.logs import configure_logs
writes = []
class Stream:
    write = writes.append
    def flush(self): pass
    def isatty(self): return False
sys.stderr = Stream()
configure_logs(False)
structlog.get_logger().error("one")
structlog.get_logger().error("two")
print([text[-4:] for text in writes])
"""
UNHEARD = """
import structlog
from gossamer.telemetry.logs import configure_logs
configure_logs(True)
for _ in range(3):
    structlog.get_logger().error("does anybody listen?")
print("worked on", flush=True)
"""


def test_line_is_written_at_once_in_one_piece() -> None:
    command = [sys.executable, "-c", SHARING]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == r"['one\n', 'two\n']"


def test_closed_stderr_does_not_stop_the_process() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-c", UNHEARD]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    assert done.stdout == b"worked on\n"


def test_logs_as_json_are_one_object_a_line() -> None:
    hello, letter = map(json.loads, log_lines(True, "info"))
    assert (hello["event"], hello["level"], hello["url"]) == ("hello", "info", "http://a/\nb")
    assert hello["timestamp"].endswith("Z")
    assert (letter["event"], letter["level"]) == ("dead letter", "warning")
    assert "ValueError: two\nlines" in letter["exception"]


def test_readable_logs_name_the_failure() -> None:
    lines = "\n".join(log_lines(False, "info"))
    assert "hello" in lines and "ValueError: two" in lines
    assert "\x1b" not in lines, "no colours without a terminal"
    assert "a page of the Web" not in lines, "no variables"


HOSTILE = r"""
import structlog
from gossamer.telemetry.logs import configure_logs
configure_logs({}, "info")
web = "a\x1b]0;owned\x07\x9b2J\x7f\u202egnp.exe\u2066\x85b"
log = structlog.get_logger()
log.warning(web, url=web, both=[web, {{web: web}}])
try:
    raise ValueError(web)
except ValueError as error:
    log.warning("unread", exc_info=error)
"""


@pytest.mark.parametrize("as_json", [True, False])
def test_no_line_has_a_control_character(as_json: bool) -> None:
    command = [sys.executable, "-c", HOSTILE.format(as_json)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    text = done.stderr.decode()
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert text.count("owned") >= 5, "the words are there"


def test_levels_leave_out_what_is_below() -> None:
    assert [json.loads(line)["event"] for line in log_lines(True, "warning")] == ["dead letter"]
    assert len(log_lines(True, "debug")) == 3
