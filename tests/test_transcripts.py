"""The files of transcripts: each belongs to a module of tests."""

from pathlib import Path

from tests.support.transcripts import read_sections, transcript_file, transcript_tests

TESTS = Path(__file__).parent


def test_each_transcript_has_its_test() -> None:
    files = {file for file in TESTS.glob("*/transcripts/*")}
    modules = {transcript_file(module): module for module in TESTS.glob("*/test_*.py")}
    assert files <= modules.keys()
    for file in files:
        assert {*read_sections(file)} <= {*transcript_tests(modules[file])}, file
