"""Whether the requests to a host are signed: the trial of a host that asks for signatures.

With `fetcher.sign = "asked"`, a host that refuses a request and asks for a signature (outcome
`signature_asked`) is tried: its URL, which stays first in its queue, is visited once more, and all
requests to the host are signed from then on. The outcome of that visit decides. If the host answers
it, the host admits signed requests, and they stay signed. If it refuses again, no request to the
host is signed any more. Another signed visit that is refused meanwhile is final for its URL.

A robots.txt that asks for a signature is requested again, too, before its rules are known. After
a second refusal it counts as any other 4xx.
"""

from msgspec.structs import replace

from gossamer.events import Outcome, Purpose, VisitEnded
from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.tables.hosts import HostRow, HostSigning, SigningState
from gossamer.telemetry import count
from gossamer.web.signing import ASKING_STATUSES, SignMode

ADMITTING_OUTCOMES = frozenset(
    {
        Outcome.PAGE,
        Outcome.NOT_MODIFIED,
        Outcome.REDIRECT,
        Outcome.BAD_REDIRECT,
        Outcome.GONE,
        Outcome.UNWANTED_TYPE,
    }
)
"""Outcomes of a signed visit that show that the host admitted it. A failure does not."""


def is_signed_for(mode: SignMode, row: HostRow) -> bool:
    """Return whether the next order of the host asks for signed requests."""
    tried = row.signing.state in (SigningState.TRIED, SigningState.ADMITTED)
    return mode is SignMode.ALWAYS or (mode is SignMode.ASKED and tried)


def begins_trial(mode: SignMode, row: HostRow, event: VisitEnded) -> bool:
    """Return whether *event* begins the trial of its host, so that its URL is visited again."""
    asks = event.outcome is Outcome.SIGNATURE_ASKED and not event.signed
    is_own = event.visit.purpose is not Purpose.PROBE and not event.visit.on_behalf_of
    return mode is SignMode.ASKED and asks and is_own and row.signing.state is None


def record_signing(mode: SignMode, ended: EndedVisit, row: HostRow) -> HostRow:
    """Return *row* with the state of its trial after a visit, and note whether a trial begins."""
    event = ended.event
    if begins_trial(mode, row, event):
        ended.is_tried_signed = True
        return _with_state(row, SigningState.TRIED, event.visit.url)
    is_deciding = event.signed and event.visit.url == row.signing.url
    if row.signing.state is not SigningState.TRIED or not is_deciding:
        return row
    if event.outcome in ADMITTING_OUTCOMES:
        return _with_state(row, SigningState.ADMITTED)
    if event.outcome is Outcome.SIGNATURE_ASKED or event.status in ASKING_STATUSES:
        return _with_state(row, SigningState.REFUSED)
    return row


def _with_state(row: HostRow, state: SigningState, url: str | None = None) -> HostRow:
    count("gossamer_signing_hosts_total", state=state)
    return replace(row, signing=HostSigning(state, url))
