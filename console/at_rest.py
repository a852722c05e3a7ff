"""Checks that a crawl is at rest before all of it is changed: nobody runs, nothing is unread."""

from console.figures import plural
from gossamer.errors import GossamerError
from gossamer.events.topics import TOPICS, Keep
from gossamer.log import Log
from gossamer.log.kafka.brokers import Brokers
from gossamer.settings.servers import KafkaSettings

FLEET_REMEDY = (
    "Let the fleet come to rest first: gossamer speed 0; wait until gossamer status shows no "
    "lag; then stop all services"
)
FOLDER_REMEDY = (
    "Let the crawl come to rest first: run gossamer crawl again, and end it with one Ctrl-C"
)


def check_stopped(settings: KafkaSettings) -> None:
    """Raise GossamerError if a group of ours has members."""
    groups = {settings.prefix + name for topic in TOPICS.values() for name in topic.consumers}
    members = Brokers(settings).members([*sorted(groups)])
    if running := [name for name, count in members.items() if count]:
        raise GossamerError(
            f"{', '.join(running)} still run: stop all services. One that was stopped counts as "
            f"running for {settings.session:g} s more"
        )


def check_drained(log: Log, remedy: str) -> None:
    """Raise GossamerError, with what to do, if records are unread, which would be lost."""
    for topic in TOPICS.values():
        if topic.keep is not Keep.UNTIL_READ:
            continue
        for group, lags in log.lag_by_group(topic.name).items():
            if unread := sum(lags.values()):
                raise GossamerError(
                    f"{plural(unread, 'record')} of {topic.name} were not read by {group}. {remedy}"
                )
