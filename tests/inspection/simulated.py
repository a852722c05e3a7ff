"""The read model of a simulated crawl."""

from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.store.sqlite import SqliteStore
from tests.frontier.simulation import Simulation


def opened(sim: Simulation) -> OpenCrawl:
    """Return the crawls of *sim*, which the read model reads while the simulation goes on."""
    log = SqliteLog(sim.database)
    log.append(map(encode, (sim.definition, *sim.others.values())))
    return OpenCrawl("the simulation", log, lambda: SqliteStore(sim.database))
