"""All tables of a fleet. (The URLs that were met are not among them: Faust keeps those.)"""

from gossamer.runtime.pinned import PinnedRow
from gossamer.store import Row
from gossamer.store.cassandra.cql import SHORT_LIVED
from gossamer.store.claims import ClaimRow, WindowRow
from services.archive.rows import CaptureRow, SegmentRow
from services.dedup.content import DigestRow
from services.dedup.guesses import GuessesRow
from services.dedup.listings import ListingRow
from services.dedup.near import NearRow
from services.dedup.rows import DocumentRow, HostNameRow, HostStepsRow
from services.fetcher.slots import AddressSlot
from services.frontier.aside import AsideRow
from services.frontier.partition_rows import PartitionRow, TallyRow
from services.frontier.plan_rows import DueVisit, PartitionPlansRow, PlanRow
from services.frontier.rows import (
    DueRow,
    HistoryRow,
    HostRow,
    JudgementRow,
    ListedHost,
    QueuedUrl,
    RobotsRow,
    SiteRow,
    UrlRow,
)

TABLES: dict[type[Row], str] = {
    HostRow: "",
    SiteRow: "",
    RobotsRow: "",
    QueuedUrl: SHORT_LIVED,
    UrlRow: "",
    JudgementRow: "",
    HistoryRow: "",
    ListedHost: SHORT_LIVED,
    DueRow: SHORT_LIVED,
    DueVisit: SHORT_LIVED,
    PlanRow: "",
    PartitionPlansRow: "",
    AsideRow: "",
    PartitionRow: "",
    TallyRow: "",
    ClaimRow: "",
    WindowRow: "",
    AddressSlot: "default_time_to_live = 86400",
    PinnedRow: "",
    DigestRow: "",
    DocumentRow: "",
    ListingRow: "",
    NearRow: "",
    HostStepsRow: "",
    HostNameRow: "",
    GuessesRow: "",
    SegmentRow: "",
    CaptureRow: "",
}
"""Each with the options that Cassandra makes it with."""
