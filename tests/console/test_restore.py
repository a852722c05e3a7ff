"""Invalid calls of `gossamer restore`."""

from tests.support.transcripts import Transcript


def test_restore_names_a_snapshot_or_aligns_a_fleet(transcript: Transcript) -> None:
    for words in ((), ("--align", "folder"), ("--align", "--replace"), ("--align",)):
        transcript("restore", *words, status=2)
