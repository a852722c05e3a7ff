"""The log on Kafka, for a fleet."""

from gossamer.extras import need

need("fleet")
