"""The lines about harvest and found URLs in the report of a run."""

from collections import Counter
from pathlib import Path

from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.progress.progress import End
from gossamer.services.frontier.tables.harvest import HarvestPoint
from tests.console.test_progress import progress, show_report
from tests.support.transcripts import Transcript


def test_report_shows_the_harvest_and_how_much_is_found(transcript: Transcript) -> None:
    folder = Folder(Path("data"))
    curve = (
        HarvestPoint(1.0, 700, 700, 600, 300, 900),
        *(HarvestPoint(2.0, 10, 10, 2, 1, 1) for _ in range(10)),
    )
    going_on = progress(admitted=1000, queued=200, harvest=curve)
    transcript.add("URLs are left", show_report(End.PAGES, going_on, 0, folder))
    done = progress(admitted=1000, queued=0, harvest=curve)
    transcript.add("no URL is left", show_report(End.DONE, done, 0, folder))
    sent = progress(admitted=1000, queued=0, harvest=curve, refused=Counter(duphost=200))
    transcript.add("URLs were sent to their original", show_report(End.DONE, sent, 0, folder))
    transcript.add("nothing is measured so far", show_report(End.TIME, progress(), 0, folder))
