"""Usage: what a site permits its pages to be used for, and what a crawl does about it.

1. `statements.py`: categories, statements, and the judgement of each category. The most restrictive
   statement decides.
2. `readers.py`: the table of readers. Every line of robots.txt, header and meta element about usage
   is read by a row of it.
3. `policy.py`: the purposes of a crawl, and whether a page is fetched and published.

The fetcher judges before the request by the statements that its order has (robots.txt), and adds
those of the headers to the page. The parser adds those of meta elements. Dedup and the archive then
judge by all of them.
"""

from gossamer.web.usage.policy import (
    ACTIONS,
    Action,
    Decision,
    UsagePolicy,
    policy_of,
)
from gossamer.web.usage.readers import (
    LINE_NAMES,
    READERS,
    is_reserved,
    names_of_meta,
    read_headers,
    read_line,
    read_meta,
)
from gossamer.web.usage.statements import (
    CATEGORIES,
    Category,
    Judgement,
    License,
    Source,
    Statement,
    judge,
    limit_statements,
    reserve,
)

__all__ = [
    "ACTIONS",
    "CATEGORIES",
    "LINE_NAMES",
    "READERS",
    "Action",
    "Category",
    "Decision",
    "Judgement",
    "License",
    "Source",
    "Statement",
    "UsagePolicy",
    "is_reserved",
    "judge",
    "limit_statements",
    "names_of_meta",
    "policy_of",
    "read_headers",
    "read_line",
    "read_meta",
    "reserve",
]
