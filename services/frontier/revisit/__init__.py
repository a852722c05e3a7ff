"""When to come back to a page: the policies, pure, and what they remember.

The life of a page, as a policy sees it. A visit ends and is judged: changed or not. The policy is
told (`Visit`) together with what is known so far (`States`: the page, its site, the crawl), and
answers with what is known now and a `Plan`: when next, and why. Nothing else happens: no clock is
read, no page but this one is looked at, and no list grows beyond a limit. So the state of a page
can lie in its row or travel with its order, and each frontier of a fleet can decide for its own
partitions.

Between two visits a page may be heard of: a sitemap gives it a new date, a link to it is new. That
is a `Hint`, and it is answered with a plan as well. Whether a hint counts, the site has earned.

| policy | when a page is visited again |
|---|---|
| `none` | never |
| `fixed` | after the same time, always |
| `selective_incremental` | after fr_max rounds, which follow the share of records that differ; if |
| | it was unchanged, and so were the pages that it links to (`internal_pages`), later |
| `adaptive` | sooner by a factor if it had changed, later by a factor if not |
| `optimal` | when a visit is worth as much as every other visit that the budget allows |

What a crawl may spend is kept by `budget`: a token for each visit. A page that is due without a
token waits, the most overdue first. `discovery_share` says how much of it first visits are worth,
and `split_budget` what each frontier of a fleet gets. `new_page` is a new page, weighed beside others.

Of the modules behind `optimal`, `rates` is what is believed of a page that changes without memory,
`clock` of one that changes at regular times, `prior` what a site's pages have in common, `evidence`
what is said beside visits and how far it is believed, `curve` and `price` what a visit costs.

Whatever policy plans, a visit teaches all that it can (`learning`), so that a crawl may change its
policy while it runs, and is told how fresh its pages are (`expected`).

What to call: `make_policy("fixed:1d")` gives the policy. After a visit that ended with a document
`policy.record_visit(known, visit)`, after any other `policy.record_absence(known, url, at, kind)` (`absent`).
When something was heard `policy.record_hint(known, hint)`. When a visit is due
`policy.at_due(known, url, now)`, which is None if it is to be made. Where the crawl has a new policy
`policy.replan(known, url)`, for each page. `forget(known)` where a page is given up.
For people, `belief` is what is believed of a page's rate, and `credible_interval` how sure.
`pack(state)`, `unpack_page(data)`: as bytes, and back; of nothing readable, nothing is known.
"""

from services.frontier.revisit.beliefs import credible_interval
from services.frontier.revisit.evidence import likelihood_ratio
from services.frontier.revisit.learning import add_request, belief, forget, new_page
from services.frontier.revisit.optimal import discovery_share
from services.frontier.revisit.planning import format_duration
from services.frontier.revisit.policies import make_policy
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.price import split_budget
from services.frontier.revisit.state import (
    DAY,
    Basis,
    CrawlState,
    Decision,
    Evidence,
    Hint,
    Kind,
    PageState,
    Plan,
    SiteState,
    States,
    Visit,
    pack,
    unpack_crawl,
    unpack_page,
    unpack_site,
)

__all__ = [
    "DAY",
    "Basis",
    "CrawlState",
    "Decision",
    "Evidence",
    "Hint",
    "Kind",
    "PageState",
    "Plan",
    "Policy",
    "SiteState",
    "States",
    "Visit",
    "add_request",
    "belief",
    "credible_interval",
    "discovery_share",
    "forget",
    "format_duration",
    "likelihood_ratio",
    "make_policy",
    "new_page",
    "pack",
    "split_budget",
    "unpack_crawl",
    "unpack_page",
    "unpack_site",
]
