"""Optional libraries, and the error message if they are missing.

They are large, so `pip install gossamer` omits them. Packages check here before they import them,
so that a person reads what to install instead of an ImportError.
"""

import sys
from importlib.util import find_spec

from gossamer.errors import GossamerError

EXTRAS = {
    "fleet": ("cassandra", "confluent_kafka", "rocksdict"),
    "faust": ("cramjam", "faust", "rocksdict"),
    "api": ("litestar", "uvicorn"),
    "parquet": ("pyarrow",),
    "replay": ("pywb",),
    "mcp": ("mcp",),
    "s3": ("s3fs",),
    "bench": ("matplotlib",),
}
"""The modules that each extra of pyproject.toml installs."""


def require_extra(extra: str) -> None:
    """Raise GossamerError with instructions unless everything in *extra* is installed."""
    missing = [module for module in EXTRAS[extra] if not _is_installed(module)]
    if missing:
        raise GossamerError(
            f"{', '.join(missing)} not installed: pip install 'gossamer[{extra}]', "
            f"or scripts/bootstrap {extra} in a checkout"
        )


def _is_installed(module: str) -> bool:
    # When Faust is imported, it replaces its module by one without a spec, and `find_spec` fails.
    return sys.modules.get(module) is not None or find_spec(module) is not None
