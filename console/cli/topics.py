"""`gossamer topics`: creates the topics of a fleet (`apply`), lists and resizes them.

`apply` also defines the crawl if the settings do and the log does not, and creates the topics that
single crawls have for their pages. `resize` changes the number of partitions of a stopped fleet, in
topics and store.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing

from console.cli.options import DEFAULT_FLEET_POLICY, add_config, positive, settings_of
from console.output import print_error, say
from gossamer import clock
from gossamer.crawl import CHOICES, definitions_of
from gossamer.errors import BadSettings, GossamerError
from gossamer.events import CrawlDefined
from gossamer.events.topics import SITE_KEYED, own_topics, topic_of_pages
from gossamer.log import KEY_GROUPS, Log
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.runtime.backends import open_store
from gossamer.runtime.checkpoints import forget_checkpoints
from gossamer.runtime.identity import STORE, IdentityRow, set_partitions
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from inspection.basics.figures import plural
from procedures.preconditions import FLEET_REMEDY, check_drained, check_stopped
from services.archive.service import Archive
from services.dedup.replicated import repartition_changelog
from services.dedup.service import Dedup
from services.frontier.procedures.resizing import crawls_in, drop_partitions, resize
from services.frontier.service import Frontier


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    apply = actions.add_parser("apply", help="create missing topics, and change those that differ")
    resize = actions.add_parser("resize", help="change the number of partitions of a stopped fleet")
    resize.add_argument(
        "partitions", type=positive, metavar="N", help="the new number of partitions"
    )
    listing = actions.add_parser("list", help="list the topics with their partitions and crawls")
    for action in (apply, listing, resize):
        add_config(action)


def run(options: argparse.Namespace) -> int:
    """Print each change when it is made, and the changes that are refused."""
    settings = settings_of(options)
    if not settings.kafka.servers:
        raise BadSettings("kafka.servers is empty: set it to a broker, HOST:PORT")
    if options.action == "resize":
        for line in resize_fleet(settings, options.partitions):
            say(line)
        return 0
    if options.action == "list":
        for line in list_topics(settings):
            say(line)
        return 0
    if not _apply(Topics(settings.kafka)):
        return 1
    for line in define_crawl(settings):
        say(line)
    own = own_topics(read_definitions(settings))
    return 0 if not own or _apply(Topics(settings.kafka, own)) else 1


def _apply(topics: Topics) -> bool:
    """Print each change of *topics*; return whether no change was refused."""
    for line in topics.apply():
        say(line)
    for line in topics.refused:
        print_error("gossamer", line)
    return not topics.refused


def read_definitions(settings: Settings) -> list[CrawlDefined]:
    """Return the definitions of all crawls of the fleet."""
    with closing(KafkaLog(settings.kafka)) as log:
        return [*definitions_of(log).values()]


def list_topics(settings: Settings) -> Iterator[str]:
    """Yield a line for each topic of the fleet: its name, its partitions, and whose it is."""
    crawls = read_definitions(settings)
    counts = Topics(settings.kafka, own_topics(crawls)).counts()
    crawl_of = {topic_of_pages(crawl): crawl.crawl for crawl in crawls if crawl.own_topic}
    for name in sorted(counts):
        crawl = f"crawl {crawl_of[name]}" if name in crawl_of else "all crawls"
        yield f"{settings.kafka.prefix}{name}  {plural(counts[name], 'partition')}  {crawl}"


def define_crawl(settings: Settings) -> Iterator[str]:
    """Define the crawl if the settings have a scope and the log has no definition."""
    if not settings.crawl.scope:
        return
    log = KafkaLog(settings.kafka)
    try:
        if not definitions_of(log):
            crawl = settings.crawl
            defined = CrawlDefined(
                at=clock.now(),
                scope=crawl.scope,
                max_depth=crawl.max_depth,
                revisit=crawl.revisit or DEFAULT_FLEET_POLICY,
                budget=crawl.budget,
                discovery_share=crawl.discovery_share,
                **{name: getattr(crawl, name) for name in CHOICES},
            )
            log.append([encode(defined)])
            yield (
                f"crawl defined: scope {crawl.scope}, {plural(crawl.max_depth, 'link')} deep, "
                f"revisits: {defined.revisit}"
            )
    finally:
        log.close()


def resize_fleet(settings: Settings, partitions: int) -> Iterator[str]:
    """Change topics and store to *partitions* partitions; yield a line for each step.

    Each step can be repeated, so after a failure the same command continues. Raise GossamerError if
    records are not consumed yet, or services run.
    """
    if KEY_GROUPS % partitions:
        numbers = ", ".join(str(n) for n in range(1, KEY_GROUPS + 1) if KEY_GROUPS % n == 0)
        raise BadSettings(
            f"{plural(partitions, 'partition')}: the number must divide {KEY_GROUPS}: {numbers}"
        )
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, whose tables cannot be resized: set it to own, and start dedup "
            "once so that it reads the changelog"
        )
    topics = Topics(settings.kafka)
    with open_store(settings) as store:
        row = store.table(IdentityRow).get(STORE)
        if row is None:
            raise GossamerError("this fleet has never run: set kafka.partitions instead")
        before, counts = row.partitions, topics.counts()
        has_begun = any(counts.get(name) != before for name in SITE_KEYED)
        if before == partitions and not has_begun:
            yield f"the fleet has {plural(partitions, 'partition')}: nothing to do"
            return
        check_stopped(settings.kafka)
        if not has_begun:
            with closing(KafkaLog(settings.kafka)) as log:
                check_drained(log, FLEET_REMEDY)
        now = clock.now()
        Claimant(store).claim(range(max(before, partitions)), now)
        resize(store, crawls := crawls_in(store), before, partitions)
        store.flush()
        yield f"store: rows of {plural(before, 'partition')} divided among {partitions}"
        yield from topics.resize(partitions)
        with closing(KafkaLog(settings.kafka)) as log:
            yield from _move_records(log, store, before, partitions, now)
            drop_partitions(store, crawls, before)
            set_partitions(log, store, now)
        yield (
            f"the fleet has {plural(partitions, 'partition')} now: set kafka.partitions to "
            f"{partitions}, "
            "and start the services"
        )


def _move_records(
    log: Log, store: Store, before: int, partitions: int, now: float
) -> Iterator[str]:
    epoch = Claimant(store, Dedup.name).claim(range(max(before, partitions)), now)
    count = 0
    for messages in repartition_changelog(log, before, partitions, epoch, now):
        log.append(messages)
        count += len(messages)
    yield f"urls.seen: {plural(count, 'record')} moved to other partitions"
    if partitions < before:
        # The topics were deleted and created again.
        for service in (Frontier, Dedup, Archive):
            forget_checkpoints(store, service.name, SITE_KEYED)
