"""The lines about harvest and completeness in the report of a run."""

from pathlib import Path

from inspection.basics.folder import Folder
from inspection.progress.progress import End
from services.frontier.tables.harvest import HarvestPoint
from tests.console.test_progress import progress, show_report


def test_report_shows_the_harvest_and_how_much_is_found() -> None:
    folder = Folder(Path("data"))
    curve = (
        HarvestPoint(1.0, 700, 700, 600, 300, 7000, 900),
        *(HarvestPoint(2.0, 10, 10, 2, 1, 100, 1) for _ in range(10)),
    )
    text = show_report(End.PAGES, progress(admitted=1000, queued=200, harvest=curve), 0, folder)
    harvest = "78 new pages per 100 visits, 39 of them good; lately 20, 10 of them good"
    assert f"harvest      {harvest}\n" in text
    assert "found        about " in text and " % visited; in all about 1,0" in text
    done = progress(admitted=1000, queued=0, harvest=curve)
    shown = show_report(End.DONE, done, 0, folder)
    assert "found        everything within the limits: 1,000 URLs, 80 % visited\n" in shown
    new = show_report(End.TIME, progress(), 0, folder)
    assert "harvest" not in new and "found  " not in new
