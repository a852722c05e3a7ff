"""`gossamer sites`: the sites with the most hosts first, or the parts of one site."""

import argparse
from collections.abc import Iterator

from gossamer.changes.sites import override_text
from gossamer.console.cli.options import add_crawl, add_listing, add_search, open_from
from gossamer.console.cli.progress import waiting_text
from gossamer.console.output import YELLOW, print_json, print_list, say, say_each
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import plural, size
from gossamer.inspection.basics.labels import LABELS
from gossamer.inspection.hosts.hosts import SiteQuery, SiteSort, SiteSummary, read_sites
from gossamer.inspection.hosts.parts import SiteBudget, SiteParts, read_parts, site_of_typed
from gossamer.services.frontier.tables.harvest import MIN_VISITS


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "site",
        nargs="?",
        metavar="SITE",
        help="show the parts of this site: what their visits brought, and what is parked",
    )
    add_search(command, SiteSort, SiteSort.HOSTS)
    add_listing(command, "sites")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the sites, or the parts of one. Return 1 if the list is empty."""
    with open_from(options) as crawl:
        if options.site:
            if options.search:
                raise BadSettings("--search chooses from a list: leave out SITE")
            return _show_parts(read_parts(crawl, site_of_typed(options.site)), options)
        query = SiteQuery(
            search=options.search,
            crawl=options.crawl,
            sort=SiteSort(options.sort),
            is_ascending=options.ascending,
        )
        sites = read_sites(crawl, query, options.limit)

    def show(site: SiteSummary) -> None:
        say(f"{site.site}  {'; '.join(_parts(site))}")

    is_chosen = options.search or options.crawl
    nothing = "No site matches." if is_chosen else "No URL has been admitted."
    return print_list(sites, options.json, show, nothing)


def _show_parts(found: SiteParts, options: argparse.Namespace) -> int:
    if options.json:
        print_json(found)
    elif found.visits or found.parked:
        say_each(_lines(found, options.limit))
    else:
        say(f"No page of {found.site} was visited.", YELLOW)
    return 0 if found.visits or found.parked else 1


def _lines(found: SiteParts, limit: int) -> Iterator[str]:
    """Yield the answer, the budgets, and the tree of parts."""
    yield f"{found.site}: {found.answer}"
    lately = found.new_urls_lately if found.visits >= MIN_VISITS else None
    yield f"  found   {waiting_text(found.unvisited, found.parked, lately)}"
    for budget in found.budgets:
        waiting = (
            f"; {plural(budget.parked, 'URL')} parked ({budget.name})" if budget.parked else ""
        )
        yield f"  budget  {_use(budget)}{waiting}"
    shown = found.parts[:limit]
    if shown:
        yield "  worth  visits  own texts  parked  part"
    for part in shown:
        parked = f"{part.parked:,}" if part.parked else ""
        is_of_copies = part.name.startswith("~")
        copies = " (links of pages without a text of their own)" * is_of_copies
        yield (
            f"  {part.worth:5.2f}  {part.visits:6.0f}  {part.new:9.0f}  {parked:>6}  "
            f"{'  ' * part.level}{part.text}{copies}"
        )
    if len(found.parts) > limit:
        yield f"  … and {plural(len(found.parts) - limit, 'part')} more (--limit)"


def _use(budget: SiteBudget) -> str:
    """Return what a site has used of a budget, as `193 of 2,243 URLs`."""
    show = size if budget.unit == "bytes" else "{:,.0f}".format
    unit = "" if budget.unit == "bytes" else f" {budget.unit}"
    if budget.limit is None:
        return f"{show(budget.used)}{unit}, no limit"
    return f"{show(budget.used)} of {show(budget.limit)}{unit}"


def _parts(site: SiteSummary) -> Iterator[str]:
    yield plural(site.hosts, "host")
    if site.queued:
        yield f"{plural(site.queued, 'URL')} queued"
    if site.backing_off:
        yield f"{plural(site.backing_off, 'host')} backing off"
    if site.parked:
        yield f"{plural(site.parked, 'URL')} parked: gossamer release {site.site} visits them"
    for rule, count in sorted(site.refused.items()):
        yield f"{plural(count, 'URL')} refused: {LABELS.get(rule, rule)}"
    if site.has_wildcard:
        yield "any name below it resolves"
    for host, reason in sorted(site.distrusted.items()):
        yield f"validators of {host} are distrusted: {reason}"
    if site.override:
        yield override_text(site.override)
    for name, override in sorted(site.host_overrides.items()):
        yield f"{name} alone: {override_text(override)}"
