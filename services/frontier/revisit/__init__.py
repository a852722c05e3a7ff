"""Revisit policies: pure functions that plan the next visit to a page.

**Input.** A visit (`Visit`), a hint between two visits (`Hint`), or an absence, together with the
states of the page, of its site and of the crawl (`States`). **Output.** The updated states, and a
`Plan`: the time of the next visit, its reason and its basis. A policy reads no clock and no other
page, and its states are bounded. So the state of a page can be stored in its row or travel with its
order, and each frontier of a fleet plans for its own partitions.

| policy | when a page is visited again |
|---|---|
| `none` | never |
| `fixed` | after a constant interval |
| `selective_incremental` | after fr_max rounds, which follow the fraction of visits that found a
change; later if the page and its internal pages are unchanged (*Selective incremental*, 3 and 5) |
| `adaptive` | earlier by a factor after a change, later by a factor otherwise (Nutch) |
| `optimal` | when a visit is worth its price (Cho and Garcia-Molina 2003; Kolobov 2019) |

**Settings.** `revisit` names the policy and its interval, `budget` the visits a day. For example
`make_policy("fixed:1d").record_visit(States(PageState(), SiteState(), CrawlState()), Visit(url,
at))` plans a visit about a day after *at*.

**Reading order.** `state` (the data), `policy` (what all policies do, and rechecks of missing
pages), `policies` (three simple ones), `selective_incremental`; then, for `optimal`: `beliefs`
(change rates and clocks), `learning` (what a visit teaches), `evidence` (announced changes and
trust in them), `price` (demand, price, budget), `optimal` itself, and `planning` (jitter, quiet
hours, sums).

**Use.** `make_policy(text)` returns a policy. After a visit with a document call
`policy.record_visit(states, visit)`, after any other `policy.record_absence(states, url, at,
kind)`, after a hint `policy.record_hint(states, hint)`. When a visit is due, `policy.at_due(states,
url, now)` returns None to make it, or another plan. After a change of the policy call
`policy.replan(states, url)` for each page. `forget(states)` removes a page from all sums. `belief`
and `credible_interval` describe a page's change rate for people. `pack` and the `unpack_…`
functions convert states to bytes and back.
"""

from gossamer.services.frontier.revisit.beliefs import credible_interval
from gossamer.services.frontier.revisit.evidence import likelihood_ratio
from gossamer.services.frontier.revisit.learning import add_request, belief, forget, new_page
from gossamer.services.frontier.revisit.optimal import discovery_share
from gossamer.services.frontier.revisit.planning import format_duration
from gossamer.services.frontier.revisit.policies import make_policy
from gossamer.services.frontier.revisit.policy import Policy
from gossamer.services.frontier.revisit.price import split_budget
from gossamer.services.frontier.revisit.state import (
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
