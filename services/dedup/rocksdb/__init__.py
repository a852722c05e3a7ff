"""The URL-seen table on an instance's disk."""

from gossamer.extras import need

need("fleet")
