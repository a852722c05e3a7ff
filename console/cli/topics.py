"""`gossamer topics`: creates the topics of a fleet (`apply`), and resizes them (`resize`).

`apply` also defines the crawl if the settings do and the log does not.
"""

import argparse
from collections.abc import Iterator

from console.cli.options import DEFAULT_FLEET_POLICY, add_config, positive, settings_of
from console.cli.resizing import resize_fleet
from console.output import print_error, say
from gossamer import clock
from gossamer.crawl import CHOICES, last_definition
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings import Settings
from inspection.figures import plural


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    apply = actions.add_parser("apply", help="create missing topics, and change those that differ")
    resize = actions.add_parser("resize", help="change the number of partitions of a stopped fleet")
    resize.add_argument(
        "partitions", type=positive, metavar="N", help="the new number of partitions"
    )
    for action in (apply, resize):
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
    topics = Topics(settings.kafka)
    for line in topics.apply():
        say(line)
    for line in topics.refused:
        print_error("gossamer", line)
    if topics.refused:
        return 1
    for line in define_crawl(settings):
        say(line)
    return 0


def define_crawl(settings: Settings) -> Iterator[str]:
    """Define the crawl if the settings have a scope and the log has no definition."""
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
