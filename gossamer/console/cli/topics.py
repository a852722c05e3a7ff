"""`gossamer topics`: creates the topics of a fleet (`apply`), lists and resizes them.

`apply` also defines the crawl if the settings do and the log does not, and creates the topics that
single crawls have for their pages. `resize` changes the number of partitions of a stopped fleet, in
topics and store.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing

from gossamer import clock
from gossamer.console.cli.options import add_config, positive, settings_of
from gossamer.console.output import print_error, say_each
from gossamer.crawl import CRAWL_SETTINGS, definitions_of
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined
from gossamer.events.topics import own_topics, topic_of_pages
from gossamer.inspection.basics.figures import plural
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.policies import DEFAULT_FLEET_POLICY
from gossamer.procedures.resize import resize_fleet
from gossamer.settings import Settings


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
        say_each(resize_fleet(settings, options.partitions))
        return 0
    if options.action == "list":
        say_each(list_topics(settings))
        return 0
    if not _apply(Topics(settings.kafka)):
        return 1
    say_each(define_crawl(settings))
    own = own_topics(read_definitions(settings))
    return 0 if not own or _apply(Topics(settings.kafka, own)) else 1


def _apply(topics: Topics) -> bool:
    """Print each change of *topics*; return whether no change was refused."""
    say_each(topics.apply())
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
    with closing(KafkaLog(settings.kafka)) as log:
        if not definitions_of(log):
            crawl = settings.crawl
            chosen = {name: getattr(crawl, name) for name in CRAWL_SETTINGS}
            chosen["revisit"] = crawl.revisit or DEFAULT_FLEET_POLICY
            defined = CrawlDefined(at=clock.now(), scope=crawl.scope, **chosen)
            log.append([encode(defined)])
            yield (
                f"crawl defined: scope {crawl.scope}, {plural(crawl.max_depth, 'link')} deep, "
                f"revisits: {defined.revisit}"
            )
