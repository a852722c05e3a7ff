"""All tables of a fleet, without the URL-seen set, which dedup stores itself."""

from dataclasses import replace

from gossamer.erasures import ErasureRow
from gossamer.log.control import ControlRow
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.identity import IdentityRow
from gossamer.services.archive.rows import CaptureRow, PayloadRow, SegmentRow, UnpublishedRow
from gossamer.services.dedup.content import DigestRow, NearRow
from gossamer.services.dedup.guesses import GuessesRow
from gossamer.services.dedup.listings import ListingRow
from gossamer.services.dedup.rows import DocumentRow, HostNameRow, HostStepsRow
from gossamer.services.fetcher.rate_limits import AddressSlot
from gossamer.services.frontier.features.shared import SharedCaptureRow
from gossamer.services.frontier.partition.parked import ParkedLimitRow, ParkedRow
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost, RobotsRow
from gossamer.services.frontier.tables.partitions import PartitionRow
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow, SiteWorthRow
from gossamer.services.frontier.tables.urls import (
    HistoryRow,
    QueuedUrl,
    RequisiteRow,
    UrlRow,
    VerdictRow,
)
from gossamer.services.frontier.totals.daily import DailyTallyRow, HazardExamplesRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.settings import Settings
from gossamer.store import Row, lifetime_of
from gossamer.store.cassandra.cql import LARGE_ROWS, SHORT_LIVED, SMALL_ROWS, Options
from gossamer.store.claims import ClaimRow, WindowRow

TABLES: dict[type[Row], Options] = {
    HostRow: SMALL_ROWS,
    SiteRow: LARGE_ROWS,
    RobotsRow: LARGE_ROWS,
    QueuedUrl: SHORT_LIVED,
    UrlRow: SMALL_ROWS,
    RequisiteRow: SMALL_ROWS,
    SharedCaptureRow: SMALL_ROWS,
    VerdictRow: SMALL_ROWS,
    HistoryRow: SMALL_ROWS,
    ListedHost: SHORT_LIVED,
    DueRow: SHORT_LIVED,
    PlanRow: SMALL_ROWS,
    PartitionPlansRow: SMALL_ROWS,
    ParkedRow: SMALL_ROWS,
    ParkedLimitRow: SMALL_ROWS,
    ParkedPartsRow: SMALL_ROWS,
    SiteWorthRow: LARGE_ROWS,
    PartitionRow: SMALL_ROWS,
    TallyRow: SMALL_ROWS,
    DailyTallyRow: SMALL_ROWS,
    HazardExamplesRow: SMALL_ROWS,
    PartitionTallyRow: SMALL_ROWS,
    ClaimRow: SMALL_ROWS,
    WindowRow: SMALL_ROWS,
    AddressSlot: Options(lifetime=86400),
    IdentityRow: SMALL_ROWS,
    CheckpointRow: SMALL_ROWS,
    ControlRow: SMALL_ROWS,
    DigestRow: SMALL_ROWS,
    DocumentRow: SMALL_ROWS,
    ListingRow: SMALL_ROWS,
    NearRow: SMALL_ROWS,
    HostStepsRow: SMALL_ROWS,
    HostNameRow: SMALL_ROWS,
    GuessesRow: SMALL_ROWS,
    SegmentRow: SMALL_ROWS,
    CaptureRow: SMALL_ROWS,
    UnpublishedRow: SHORT_LIVED,
    PayloadRow: SMALL_ROWS,
    ErasureRow: SMALL_ROWS,
}
"""Table → the options with which it is created in Cassandra."""


def tables(settings: Settings) -> dict[type[Row], Options]:
    """Return all tables with their options; *settings* have the lifetimes of rows."""
    return {
        row: replace(options, lifetime=round(lifetime_of(row, settings)) or options.lifetime)
        for row, options in TABLES.items()
    }
