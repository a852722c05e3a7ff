"""Invalid calls of `gossamer restore`."""

import pytest

from console.cli.main import main


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name a snapshot, or use --align for a fleet"),
        (["--align", "folder"], "name a snapshot, or use --align for a fleet"),
        (["--align", "--replace"], "leave out --data and --replace"),
        (["--align"], "always agree"),
    ],
)
def test_restore_names_a_snapshot_or_aligns_a_fleet(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["restore", *words]) == 2
    assert reason in capsys.readouterr().err
