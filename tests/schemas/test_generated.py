"""The generated files are up to date."""

from gossamer.schemas.__main__ import generated_files


def test_generated_files_are_up_to_date() -> None:
    outdated = [path.name for path, text in generated_files() if path.read_text("utf-8") != text]
    assert outdated == [], "run scripts/schemas"
