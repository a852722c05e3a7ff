"""The store on Cassandra, for a fleet."""

from gossamer.extras import require_extra

require_extra("fleet")
