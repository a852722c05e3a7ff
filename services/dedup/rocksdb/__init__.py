"""The URL-seen table on an instance's disk."""

from gossamer.extras import require_extra

require_extra("fleet")
