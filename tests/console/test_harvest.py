"""The lines about harvest and completeness in the report of a run."""

from pathlib import Path

from inspection.basics.folder import Folder
from inspection.progress.progress import End
from services.frontier.tables.harvest import HarvestPoint
from tests.console.test_progress import progress, show_report
from tests.support.transcripts import Transcript


def test_report_shows_the_harvest_and_how_much_is_found(transcript: Transcript) -> None:
    folder = Folder(Path("data"))
    curve = (
        HarvestPoint(1.0, 700, 700, 600, 300, 7000, 900),
        *(HarvestPoint(2.0, 10, 10, 2, 1, 100, 1) for _ in range(10)),
    )
    going_on = progress(admitted=1000, queued=200, harvest=curve)
    transcript.add("URLs are left", show_report(End.PAGES, going_on, 0, folder))
    done = progress(admitted=1000, queued=0, harvest=curve)
    transcript.add("no URL is left", show_report(End.DONE, done, 0, folder))
    transcript.add("nothing is measured so far", show_report(End.TIME, progress(), 0, folder))
