"""The events on the log and the types of their fields. See also `gossamer.events.topics`."""

from gossamer.events.audit import (
    ChangedSetting as ChangedSetting,
)
from gossamer.events.audit import (
    ChangeRecorded as ChangeRecorded,
)
from gossamer.events.control import (
    BlocklistChanged as BlocklistChanged,
)
from gossamer.events.control import (
    ChangeExpires as ChangeExpires,
)
from gossamer.events.control import (
    CrawlDefined as CrawlDefined,
)
from gossamer.events.control import (
    FleetBegun as FleetBegun,
)
from gossamer.events.control import (
    FleetPaused as FleetPaused,
)
from gossamer.events.control import (
    FleetQuiesced as FleetQuiesced,
)
from gossamer.events.control import (
    HostOverridden as HostOverridden,
)
from gossamer.events.control import (
    Party as Party,
)
from gossamer.events.control import (
    SeedsApplied as SeedsApplied,
)
from gossamer.events.control import (
    SiteOverridden as SiteOverridden,
)
from gossamer.events.control import (
    Speed as Speed,
)
from gossamer.events.control import (
    SpeedSet as SpeedSet,
)
from gossamer.events.notices import (
    NoticeRaised as NoticeRaised,
)
from gossamer.events.notices import (
    NoticeSent as NoticeSent,
)
from gossamer.events.outcomes import (
    Imported as Imported,
)
from gossamer.events.outcomes import (
    Outcome as Outcome,
)
from gossamer.events.outcomes import (
    Purpose as Purpose,
)
from gossamer.events.outcomes import (
    Verdict as Verdict,
)
from gossamer.events.pages import (
    Entry as Entry,
)
from gossamer.events.pages import (
    Heading as Heading,
)
from gossamer.events.pages import (
    Link as Link,
)
from gossamer.events.pages import (
    Listing as Listing,
)
from gossamer.events.pages import (
    PageKind as PageKind,
)
from gossamer.events.pages import (
    PageParsed as PageParsed,
)
from gossamer.events.public import (
    Page as Page,
)
from gossamer.events.public import (
    PageArchived as PageArchived,
)
from gossamer.events.public import (
    Tombstone as Tombstone,
)
from gossamer.events.records import (
    DEFAULT_CRAWL as DEFAULT_CRAWL,
)
from gossamer.events.records import (
    FLEET as FLEET,
)
from gossamer.events.records import (
    PRIORITY_LIMIT as PRIORITY_LIMIT,
)
from gossamer.events.records import (
    Blob as Blob,
)
from gossamer.events.records import (
    ChangeHint as ChangeHint,
)
from gossamer.events.records import (
    ChangesHinted as ChangesHinted,
)
from gossamer.events.records import (
    DeadLetter as DeadLetter,
)
from gossamer.events.records import (
    Discovery as Discovery,
)
from gossamer.events.records import (
    Event as Event,
)
from gossamer.events.records import (
    EvidenceKind as EvidenceKind,
)
from gossamer.events.records import (
    FetcherStarted as FetcherStarted,
)
from gossamer.events.records import (
    HostCheckedOut as HostCheckedOut,
)
from gossamer.events.records import (
    HostsCompared as HostsCompared,
)
from gossamer.events.records import (
    LinksParked as LinksParked,
)
from gossamer.events.records import (
    MissingPageRead as MissingPageRead,
)
from gossamer.events.records import (
    OrderBegun as OrderBegun,
)
from gossamer.events.records import (
    OrderId as OrderId,
)
from gossamer.events.records import (
    OriginalAnnounced as OriginalAnnounced,
)
from gossamer.events.records import (
    PageDeduplicated as PageDeduplicated,
)
from gossamer.events.records import (
    PageFetched as PageFetched,
)
from gossamer.events.records import (
    RobotsAnswered as RobotsAnswered,
)
from gossamer.events.records import (
    RobotsRequested as RobotsRequested,
)
from gossamer.events.records import (
    SeedAdded as SeedAdded,
)
from gossamer.events.records import (
    SharedCapture as SharedCapture,
)
from gossamer.events.records import (
    Timing as Timing,
)
from gossamer.events.records import (
    UrlRulesAnnounced as UrlRulesAnnounced,
)
from gossamer.events.records import (
    UrlsAdmitted as UrlsAdmitted,
)
from gossamer.events.records import (
    UrlsDiscovered as UrlsDiscovered,
)
from gossamer.events.records import (
    UrlsSeen as UrlsSeen,
)
from gossamer.events.records import (
    Visit as Visit,
)
from gossamer.events.records import (
    VisitEnded as VisitEnded,
)
from gossamer.events.requests import (
    Erasure as Erasure,
)
from gossamer.events.requests import (
    ErasureBegun as ErasureBegun,
)
from gossamer.events.requests import (
    ErasureRequested as ErasureRequested,
)
from gossamer.events.requests import (
    FetchRequested as FetchRequested,
)
from gossamer.events.requests import (
    RefetchRequested as RefetchRequested,
)
from gossamer.events.requests import (
    ReleaseRequested as ReleaseRequested,
)
from gossamer.events.requests import (
    RetryRequested as RetryRequested,
)
from gossamer.events.requests import (
    UrlsErased as UrlsErased,
)
from gossamer.events.requests import (
    VisitsErased as VisitsErased,
)
