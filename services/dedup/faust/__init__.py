"""Dedup on Faust: the app, its table and changelog, and the runner that carries events."""

from gossamer.extras import require_extra

require_extra("fleet")
