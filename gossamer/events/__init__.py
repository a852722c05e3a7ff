"""The events on the log and the types of their fields. See also `gossamer.events.topics`."""

# ruff: isort: skip_file
# Its formatter would import each exported name by a statement of its own.
from gossamer.events.audit import (
    ChangedSetting as ChangedSetting,
    ChangeRecorded as ChangeRecorded,
)
from gossamer.events.control import (
    BlocklistChanged as BlocklistChanged,
    ChangeExpires as ChangeExpires,
    CrawlDefined as CrawlDefined,
    FleetBegun as FleetBegun,
    FleetPaused as FleetPaused,
    FleetQuiesced as FleetQuiesced,
    HostOverridden as HostOverridden,
    Party as Party,
    SeedsApplied as SeedsApplied,
    SiteOverridden as SiteOverridden,
    Speed as Speed,
    SpeedSet as SpeedSet,
)
from gossamer.events.notices import (
    NoticeRaised as NoticeRaised,
    NoticeSent as NoticeSent,
)
from gossamer.events.outcomes import (
    Imported as Imported,
    Outcome as Outcome,
    Purpose as Purpose,
    Verdict as Verdict,
)
from gossamer.events.pages import (
    Entry as Entry,
    Heading as Heading,
    Link as Link,
    Listing as Listing,
    PageKind as PageKind,
    PageParsed as PageParsed,
)
from gossamer.events.public import (
    Page as Page,
    PageArchived as PageArchived,
    Tombstone as Tombstone,
)
from gossamer.events.records import (
    DEFAULT_CRAWL as DEFAULT_CRAWL,
    FLEET as FLEET,
    PRIORITY_LIMIT as PRIORITY_LIMIT,
    Blob as Blob,
    ChangeHint as ChangeHint,
    ChangesHinted as ChangesHinted,
    DeadLetter as DeadLetter,
    Discovery as Discovery,
    Event as Event,
    EvidenceKind as EvidenceKind,
    FetcherStarted as FetcherStarted,
    HostCheckedOut as HostCheckedOut,
    HostsCompared as HostsCompared,
    LinksParked as LinksParked,
    MissingPageRead as MissingPageRead,
    OrderBegun as OrderBegun,
    OrderId as OrderId,
    OriginalAnnounced as OriginalAnnounced,
    PageDeduplicated as PageDeduplicated,
    PageFetched as PageFetched,
    RobotsAnswered as RobotsAnswered,
    RobotsRequested as RobotsRequested,
    SeedAdded as SeedAdded,
    SharedCapture as SharedCapture,
    Timing as Timing,
    UrlRulesAnnounced as UrlRulesAnnounced,
    UrlsAdmitted as UrlsAdmitted,
    UrlsDiscovered as UrlsDiscovered,
    UrlsSeen as UrlsSeen,
    Visit as Visit,
    VisitEnded as VisitEnded,
)
from gossamer.events.requests import (
    Erasure as Erasure,
    ErasureBegun as ErasureBegun,
    ErasureRequested as ErasureRequested,
    FetchRequested as FetchRequested,
    RefetchRequested as RefetchRequested,
    ReleaseRequested as ReleaseRequested,
    RetryRequested as RetryRequested,
    UrlsErased as UrlsErased,
    VisitsErased as VisitsErased,
)
