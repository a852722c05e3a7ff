"""Query parameters that several routes share, with their limits and descriptions."""

from typing import Annotated

from litestar.params import QueryParameter

MAX_ROWS = 1000
"""Items in one response."""
Limit = Annotated[
    int, QueryParameter(ge=1, le=MAX_ROWS, description="The maximum number of items.")
]
Url = Annotated[str, QueryParameter(description="A URL, in any form that a person types.")]
OfSite = Annotated[str, QueryParameter(description="Only this site, or only its hosts.")]
OfTime = Annotated[
    float | None, QueryParameter(description="The newest version until then, in epoch seconds.")
]
