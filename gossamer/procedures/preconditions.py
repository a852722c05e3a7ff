"""Checks before a whole crawl is changed: no service runs, and every record is consumed."""

from gossamer.errors import BadSettings, GossamerError
from gossamer.events.topics import CONSUMED_TOPICS, TOPICS
from gossamer.inspection.basics.figures import plural
from gossamer.log import Log
from gossamer.log.kafka.client import Brokers
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.service import Dedup
from gossamer.services.frontier.service import Frontier
from gossamer.settings import Settings
from gossamer.settings.servers import KafkaSettings

STATEFUL_SERVICES = (Frontier, Dedup, Archive)
"""The services with rows in the store."""
FLEET_REMEDY = (
    "Drain the fleet first: gossamer speed 0; wait until gossamer status shows no lag; then stop "
    "all services"
)
FOLDER_REMEDY = "Drain the crawl first: run gossamer crawl again, and stop it with one Ctrl-C"


def check_engine(settings: Settings, verb: str) -> None:
    """Raise BadSettings if Faust stores the URL-seen set. *verb*: a participle, for the message."""
    if settings.dedup.engine == "faust":
        raise BadSettings(
            f"dedup.engine is faust, whose tables cannot be {verb}: set it to own, and start dedup "
            "once so that it reads the changelog"
        )


def check_stopped(settings: KafkaSettings) -> None:
    """Raise GossamerError if a consumer group of the fleet has members."""
    groups = {settings.prefix + name for name in CONSUMED_TOPICS}
    members = Brokers(settings).members([*sorted(groups)])
    if running := [name for name, count in members.items() if count]:
        raise GossamerError(
            f"{', '.join(running)} still run: stop all services. A stopped service counts as "
            f"running for another {settings.session:g} s"
        )


def check_drained(log: Log, is_folder: bool) -> None:
    """Raise GossamerError, with the remedy for a folder or a fleet, if records are not consumed
    yet: they would be lost."""
    remedy = FOLDER_REMEDY if is_folder else FLEET_REMEDY
    consumed = [topic.name for topic in TOPICS.values() if topic.consumers]
    for topic, by_group in log.lag_by_group(consumed).items():
        for group, lags in by_group.items():
            if lag := sum(lags.values()):
                raise GossamerError(
                    f"{plural(lag, 'record')} of {topic} not consumed yet by {group}. {remedy}"
                )
