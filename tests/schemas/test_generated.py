"""The generated files are up to date."""

from pathlib import Path

import pytest

from gossamer.schemas.__main__ import generated_files

ROOT = Path(__file__).resolve().parents[2]
GENERATED = dict(generated_files())


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_file_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATED[path], "run scripts/schemas"
