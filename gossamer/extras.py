"""The libraries that only some uses need, and what to say where they are missing.

They are large, so `pip install gossamer` leaves them out. The packages that use them ask here
before they import them: a person then reads what to install, and not where an import failed.
"""

import sys
from importlib.util import find_spec

from gossamer.errors import GossamerError

EXTRAS = {
    "fleet": ("cassandra", "confluent_kafka", "cramjam", "faust", "rocksdict"),
    "parquet": ("pyarrow",),
    "bench": ("matplotlib",),
}
"""The modules that each extra in pyproject.toml installs."""


def need(extra: str) -> None:
    """Return if everything in *extra* is installed; else raise GossamerError that says how."""
    missing = [module for module in EXTRAS[extra] if not _installed(module)]
    if missing:
        raise GossamerError(
            f"{', '.join(missing)} not installed: pip install 'gossamer[{extra}]', "
            f"or scripts/bootstrap {extra} in a checkout"
        )


def _installed(module: str) -> bool:
    # Faust replaces itself when it is imported, by a module that no longer says where it is from.
    return sys.modules.get(module) is not None or find_spec(module) is not None
