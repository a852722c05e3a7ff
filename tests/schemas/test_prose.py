"""The check of the project's English refuses bad phrases, and accepts plain sentences."""

import pytest

from gossamer.schemas.prose import descriptions, phrases, problem_of


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Visits that ended, by outcome.", ""),
        ("`/metrics` is served on this port; 0 for none.", ""),
        ("", "no description"),
        ("The same for PDF files.", "it does not stand alone"),
        ("…until here. Equal: no quiet hours.", "it does not stand alone"),
        ("Those of the host and of its domain.", "it does not stand alone"),
        ("seconds between two visits.", "it is not a sentence"),
        ("Seconds between two visits", "it is not a sentence"),
        ("Its number.", "it is too short"),
        ("Items that wait.", ""),
    ],
)
def test_description_is_a_complete_sentence(text: str, problem: str) -> None:
    assert problem_of(text) == problem


def test_all_kinds_of_descriptions_are_checked() -> None:
    kinds = {name.split()[0] for name, _ in descriptions()}
    assert kinds == {"metric", "setting", "event", "field", "table", "column"}


def test_refused_phrases_come_from_the_table_of_the_vocabulary() -> None:
    table = "| phrase | rather |\n|---|---|\n| set aside | parked |\n"
    text = f"| odd | x |\n## Refused phrases\n\n{table}"
    assert phrases(text) == {"set aside": "parked"}
