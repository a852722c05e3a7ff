"""The store on Cassandra, for a fleet."""

from gossamer.extras import need

need("fleet")
