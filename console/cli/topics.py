"""`gossamer topics`: makes the topics of a fleet (`apply`), and defines the crawl if nobody has;
gives them another number of partitions (`resize`)."""

import argparse
import sys
from collections.abc import Iterator

from console.cli.options import IN_A_FLEET, add_config, natural, settings_of
from console.cli.resizing import resize_fleet
from gossamer import clock
from gossamer.crawl import CHOICES, last_definition
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings import Settings


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    apply = actions.add_parser("apply", help="make what is missing, change what differs")
    resize = actions.add_parser(
        "resize", help="give the topics of a stopped fleet another number of partitions"
    )
    resize.add_argument("partitions", type=natural, metavar="N", help="how many")
    for action in (apply, resize):
        add_config(action)


def run(options: argparse.Namespace) -> int:
    """Print what is done, as it is done, and what is refused."""
    settings = settings_of(options)
    if not settings.kafka.servers:
        raise BadSettings("kafka.servers is empty: name brokers, as in HOST:PORT")
    if options.action == "resize":
        for line in resize_fleet(settings, options.partitions):
            print(line, flush=True)
        return 0
    topics = Topics(settings.kafka)
    for line in topics.apply():
        print(line, flush=True)
    for line in topics.refused:
        print(f"gossamer: {line}", file=sys.stderr)
    if topics.refused:
        return 1
    for line in define(settings):
        print(line, flush=True)
    return 0


def define(settings: Settings) -> Iterator[str]:
    """Define the crawl where settings do and the log does not: anybody may produce seeds."""
    if not settings.crawl.scope:
        return
    log = KafkaLog(settings.kafka)
    try:
        if last_definition(log) is None:
            crawl = settings.crawl
            defined = CrawlDefined(
                at=clock.now(),
                scope=crawl.scope,
                max_depth=crawl.max_depth,
                revisit=crawl.revisit or IN_A_FLEET,
                budget=crawl.budget,
                discovery_share=crawl.discovery_share,
                **{name: getattr(crawl, name) for name in CHOICES},
            )
            log.append([encode(defined)])
            yield (
                f"crawl defined: scope {crawl.scope}, {crawl.max_depth} links deep, "
                f"revisits: {defined.revisit}"
            )
    finally:
        log.close()
