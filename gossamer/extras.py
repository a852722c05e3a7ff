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
    "rust": ("etrafilatura",),
    "s3": ("s3fs",),
    "bench": ("matplotlib",),
}
"""The modules that each extra of pyproject.toml installs."""
LEAST_PYTHON = {"rust": (3, 12)}
"""The oldest Python for which there are packages of an extra."""


def require_extra(extra: str) -> None:
    """Raise GossamerError with instructions unless everything in *extra* is installed."""
    if missing := missing_modules(extra):
        if sys.version_info < (least := LEAST_PYTHON.get(extra, ())):
            version = ".".join(map(str, least))
            raise GossamerError(f"{', '.join(missing)}: needs Python {version} or later")
        raise GossamerError(
            f"{', '.join(missing)} not installed: pip install 'gossamer[{extra}]', "
            f"or scripts/bootstrap {extra} in a checkout"
        )


def missing_modules(extra: str) -> list[str]:
    """Return the modules of *extra* that are not installed."""
    return [module for module in EXTRAS[extra] if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    # When Faust is imported, it replaces its module by one without a spec, and `find_spec` fails.
    return sys.modules.get(module) is not None or find_spec(module) is not None
