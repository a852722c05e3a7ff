"""`--dry-run` and `--reason` of the commands that change something, and `gossamer audit`."""

import pytest

from gossamer import clock
from gossamer.events.topics import TOPICS
from tests.console.gossamer import Gossamer
from tests.runtime.processors import drain


def records(gossamer: Gossamer) -> int:
    """Return the number of retained records of all topics."""
    return len(drain(gossamer.open().log.tail([*TOPICS])))


def test_dry_run_shows_the_effect_and_changes_nothing(seeded: Gossamer) -> None:
    for words in (
        ("block", "a.example"),
        ("speed", "20/s"),
        ("site", "a.example", "--delay", "9"),
        ("site", "b.a.example", "--host", "--off"),
        ("seed", "https://www.a.example/x"),
    ):
        before = records(seeded)
        seeded(*words, "--dry-run")
        assert records(seeded) == before
        seeded(*words)
        assert records(seeded) > before


def test_dry_run_creates_no_folder(gossamer: Gossamer) -> None:
    gossamer("seed", "https://a.example/", "--dry-run")
    assert not gossamer.data.exists()


def test_audit_lists_who_changed_what_and_why(seeded: Gossamer) -> None:
    seeded("block", "a.example", "--reason", "complaint \x1b[2J of the owner")
    seeded("speed", "20/s")
    seeded("unblock", "a.example")
    seeded("audit")


def test_audit_chooses_changes(seeded: Gossamer) -> None:
    seeded("block", "a.example", "b.example")
    seeded("speed", "20/s")
    (change,) = seeded.json_lines("audit", "--action", "speed")
    assert change["action"] == "speed" and change["settings"][0]["before"]["speeds"] == []
    for actor in ("ann", "ann@desk"):
        assert seeded("audit", "--actor", actor) == seeded("audit")
    seeded("audit", "b.exam")
    seeded("audit", "--actor", "nobody", status=1)
    seeded("audit", "--since", "2999-01-01", status=1)
    seeded("audit", "--limit", "1")


def test_commands_that_only_show_are_not_recorded(seeded: Gossamer) -> None:
    seeded("audit")
    seeded("speed")
    seeded("site")
    seeded("block", "a.example", "--dry-run")
    seeded("unblock", "a.example", status=1)
    seeded("audit")


def test_change_for_a_time_names_its_end(seeded: Gossamer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: 2_000_000_000.0)
    seeded("block", "a.example", "--for", "1 day")
    seeded("blocklist")
    seeded("audit", "a.example")
    seeded("block", "a.example")
    seeded("blocklist")
    seeded("speed", "0", "--for", "30min")
    seeded("site", "a.example", "--off", "--for", "12h")
