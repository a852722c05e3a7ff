"""Revisits: the shell around the revisit policies.

The state of a page travels with its visit and returns with the verdict. The state of a site is in
the site's row, the state of the crawl in a row of the partition. So a verdict causes no read,
unless it is late: then it may be a second copy, and the next visit may have begun. A policy returns
the next visit to the page, which is stored as a plan, a row of the URL. The calendar of the
partition (`plans.py`) has an entry for each plan.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import (
    ChangeHint,
    ChangesHinted,
    CrawlDefined,
    Outcome,
    PageDeduplicated,
    RobotsAnswered,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.events.outcomes import GONE_VERDICTS, OUTCOMES, Absence
from gossamer.policies import NEVER, uses_internal_links
from gossamer.runtime.handling import read_ahead
from gossamer.runtime.processor import Key
from gossamer.services.frontier import revisit
from gossamer.services.frontier.choice.pacing import BudgetAllocation
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.plans import MAX_MOVED_BUCKETS
from gossamer.services.frontier.partition.politeness import retry_wait
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.revisit import (
    Basis,
    Decision,
    Evidence,
    Hint,
    Kind,
    PageState,
    States,
)
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import DueRow, PlanRow
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow
from gossamer.store import Store
from gossamer.web.http import NOT_MODIFIED
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import NO_VALIDATORS, Trust, Validators

LATE_SECONDS = 30.0
"""A verdict is late if it comes more than these seconds after its visit: the next visit may have
begun. Policies plan visits at least ten minutes apart."""


@dataclass
class _CrawlPolicy:
    """The policy of one crawl, by name, and the allocation of its budget."""

    name: str
    policy: revisit.Policy
    allocation: BudgetAllocation


class Revisits:
    """Plans revisits to the URLs of the claimed partitions."""

    def __init__(self, partitions: Partitions, store: Store) -> None:
        self._partitions, self._store = partitions, store
        self._rows = store.table(PlanRow)
        self._of_crawl = dict[str, _CrawlPolicy]()

    def define(self, crawl: CrawlDefined) -> None:
        """Use the policy and the budget of *crawl* for its URLs; raise Poison if the policy is
        unknown."""
        of_crawl = self._policy_of(crawl.crawl)
        try:
            of_crawl.policy = revisit.make_policy(crawl.revisit)
        except ValueError as error:
            raise Poison(str(error)) from error
        of_crawl.name = crawl.revisit
        of_crawl.allocation.define(crawl)

    def _policy_of(self, crawl: str) -> "_CrawlPolicy":
        if (found := self._of_crawl.get(crawl)) is None:
            allocation = BudgetAllocation(crawl, self._partitions, self._store)
            found = self._of_crawl[crawl] = _CrawlPolicy(
                NEVER, revisit.make_policy(NEVER), allocation
            )
        return found

    def _policy(self, share: CrawlShare) -> revisit.Policy:
        return self._policy_of(share.crawl).policy

    def allocation(self, crawl: str) -> BudgetAllocation:
        """Return the allocation of the budget of *crawl*."""
        return self._policy_of(crawl).allocation

    def plan_first_visit(
        self, share: CrawlShare, host: HostRow, url: QueuedUrl, now: float
    ) -> None:
        """Plan the first visit to a URL, which waits for the budget."""
        row = pick(
            PlanRow,
            url,
            host=host.host,
            at=now,
            reason="it waits for the budget",
            basis=Basis.NEW,
            policy=self._policy_of(url.crawl).name,
        )
        self._rows.put(row)
        self.enter_first_visit(share, host.site, row)

    def enter_first_visit(self, share: CrawlShare, site: Site, plan: PlanRow) -> None:
        """Add the plan of a first visit to the calendar, once."""
        if plan.at is not None and plan.number is not None:
            key = f"{plan.number:020d} {plan.url}"
            entry = DueRow("", key, plan.at, site, plan.host, plan.crawl, plan.url)
            share.plans.add_first_visit(entry)

    def retry(self, partition: Partition, event: VisitEnded, at: float) -> None:
        """Plan another attempt at *at* for a visit that failed."""
        visit, attempt = event.visit, event.visit.attempt + 1
        row = PlanRow(
            crawl=event.crawl,
            host=event.host,
            url=visit.url,
            reason=f"attempt {attempt + 1} after {event.outcome}",
            origin=Origin.of(visit, visit.via),
            attempt=attempt,
            earlier=visit.earlier,
            validators=visit.validators,
            statistics=visit.statistics,
        )
        self._plan_attempt(partition, event.site, row, at)

    def repeat(
        self, partition: Partition, site: Site, last: UrlRow, reason: str, at: float
    ) -> None:
        """Plan another attempt at *at* for a URL whose last visit, *last*, did not fail. The
        request has no conditions."""
        plan = self.find_plan(last.crawl, last.host, last.url)
        if last.queued or (plan and plan.queued and not plan.is_outdated(last)):
            return
        row = PlanRow(
            crawl=last.crawl,
            host=last.host,
            url=last.url,
            reason=reason,
            origin=last.origin,
            attempt=1,
            earlier=last.earlier,
            statistics=plan.statistics if plan else b"",
        )
        self._plan_attempt(partition, site, row, at)

    def _plan_attempt(self, partition: Partition, site: Site, row: PlanRow, at: float) -> None:
        self._rows.put(replace(row, at=at, policy=self._policy_of(row.crawl).name))
        partition.schedule_url(at, site, row.host, row.crawl, row.url)

    def postpone(
        self, partition: Partition, share: CrawlShare, site: Site, plan: PlanRow, at: float
    ) -> None:
        """Move *plan*, whose entry was popped from its calendar, to *at*."""
        plan = replace(plan, at=at)
        self._rows.put(plan)
        if plan.number is not None:
            self.enter_first_visit(share, site, plan)
        elif plan.is_retry:
            partition.schedule_url(at, site, plan.host, plan.crawl, plan.url)
        else:
            share.plans.add(_entry(plan, at, site))

    def confirm_due_plan(self, share: CrawlShare, entry: DueRow, now: float) -> PlanRow | None:
        """Return the plan of a due *entry* if its visit is to be made.

        None if the entry is obsolete, or if the policy has planned another visit instead.
        """
        plan, of_crawl = self.find_due_plan(share, entry), self._policy_of(share.crawl)
        is_asked = uses_internal_links(of_crawl.name)
        if plan is None or not is_asked or not plan.basis or plan.number is not None:
            return plan
        states = _states(share, entry.site, plan.statistics)
        decision = of_crawl.policy.at_due(states, plan.url, now)
        if decision is None:
            return plan
        self._store_decision(share, entry.site, plan, states.page, decision)
        return None

    def find_due_plan(self, share: CrawlShare, entry: DueRow) -> PlanRow | None:
        """Return the plan of a due *entry*; None if the entry is obsolete."""
        plan = self._rows.get(*entry.plan) if entry.plan else None
        if plan is None or plan.waits_until == entry.at:
            return plan
        # After a crash between the writes of the plan and of its entry, the entry is missing.
        self._enter(share, entry.site, plan)
        return None

    def _enter(self, share: CrawlShare, site: Site, plan: PlanRow) -> None:
        """Add an entry for a revisit to the calendar, once.

        Under the policy `none` the entry is never due, but another policy may move it.
        """
        at, is_planned = plan.waits_until, plan.at is not None or plan.policy == NEVER
        if at is not None and is_planned and plan.number is None and not plan.is_retry:
            share.plans.add(_entry(plan, at, site))

    def mark_queued(self, plan: PlanRow) -> None:
        """Record that the URL of *plan* is in its host's queue."""
        # Written last: after a crash before the queue is stored, the plan must be found due again.
        self._rows.put(replace(plan, queued=True), last=True)

    def record_verdict(
        self, partition: Partition, share: CrawlShare, event: PageDeduplicated
    ) -> None:
        """Learn from a verdict, and plan the next visit."""
        if event.verdict in GONE_VERDICTS:
            # The outcome of the visit was recorded by `record_absence`.
            return
        if is_late(event) and self._has_begun(event):
            return
        at, visit, validators = event.fetched_at or event.at, event.visit, event.validators
        if event.status == NOT_MODIFIED and validators == NO_VALIDATORS:
            # The 304 confirmed no document, which says nothing about the page or its host.
            row = replace(_plan_row(event, visit, at, NO_VALIDATORS), visited_at=None)
            row = replace(row, reason=event.reason, attempt=1, statistics=visit.statistics)
            wait = retry_wait(1, Outcome.NOT_MODIFIED)
            self._plan_attempt(partition, event.site, row, event.at + wait)
            return
        states = _states(share, event.site, visit.statistics)
        if event.verdict is Verdict.UNREADABLE:
            decision = self._policy(share).record_absence(states, visit.url, at, Absence.REFUSED)
            validators = NO_VALIDATORS
        else:
            _update_trust(partition, share, event)
            decision = self._policy(share).record_visit(states, _visit_of(event, at))
        page = _plan_row(event, visit, at, validators)
        self._store_decision(share, event.site, page, states.page, decision)

    def _has_begun(self, event: PageDeduplicated) -> bool:
        """Return whether the visit after the one in *event* has begun.

        Dedup repeats a verdict after a crash, so an earlier copy may have caused that visit.
        """
        plan, visit = self.find_plan(event.crawl, event.host, event.visit.url), event.visit
        begun = plan is not None and (plan.queued or plan.is_retry)
        return plan is not None and (plan.earlier, begun) > (visit.earlier + 1, False)

    def record_absence(
        self,
        share: CrawlShare,
        event: VisitEnded | RobotsAnswered,
        visit: Visit | QueuedUrl,
        at: float,
    ) -> None:
        """Plan a recheck of the URL of *visit*, which returned no document."""
        absence = OUTCOMES[event.outcome].absence or Absence.REFUSED
        states = _states(share, event.site, visit.statistics)
        decision = self._policy(share).record_absence(states, visit.url, at, absence)
        page = _plan_row(event, visit, at, NO_VALIDATORS)
        self._store_decision(share, event.site, page, states.page, decision)

    def postpone_excluded(
        self, share: CrawlShare, host: HostRow, url: QueuedUrl, now: float
    ) -> None:
        """Plan the next check of a known page that was excluded when it was due."""
        states = _states(share, host.site, url.statistics)
        decision = self._policy(share).record_absence(states, url.url, now, Absence.EXCLUDED)
        page = PlanRow(
            url.crawl,
            host.host,
            url.url,
            visited_at=now,
            origin=url.origin,
            earlier=url.earlier,
            validators=url.validators,
        )
        self._store_decision(share, host.site, page, states.page, decision)

    def record_hints(
        self, partition: Partition, share: CrawlShare, event: ChangesHinted, now: float
    ) -> None:
        """Plan earlier visits to pages with announced changes, as far as announcements are
        trusted."""
        for hint in event.hints:
            row = self._rows.get((event.crawl, event.host), hint.url)
            is_planned = row and row.basis and not row.queued
            if row and is_planned and row.at is not None and row.at > now:
                self._hint(share, event, hint, row, row.at, now)

    def _hint(
        self,
        share: CrawlShare,
        event: ChangesHinted,
        hint: ChangeHint,
        row: PlanRow,
        planned_at: float,
        now: float,
    ) -> None:
        states = _states(share, event.site, row.statistics)
        evidence = Hint(hint.url, now, Evidence(hint.kind, hint.changed_at, hint.every))
        (page, site, crawl), plan = self._policy(share).record_hint(states, evidence)
        if page == states.page or not plan.at:
            return
        share.sites.store_revisit_state(event.site, site)
        share.plans.crawl = crawl
        row = replace(row, statistics=revisit.pack(page))
        if plan.at < planned_at:
            row = replace(row, at=plan.at, reason=plan.reason, basis=plan.basis or "")
            share.plans.add(_entry(row, plan.at, event.site))
        self._rows.put(row)

    def find_plan(self, crawl: str, host: HostKey, url: str) -> PlanRow | None:
        """Read the plan of a URL in *crawl*; None if there is no plan."""
        return self._rows.get((crawl, host), url)

    def plans(self, crawl: str, host: HostKey, urls: Sequence[str]) -> list[PlanRow]:
        """Read the plans of *urls* in *crawl*; a URL may have none."""
        return self._rows.get_many((crawl, host), urls)

    def _store_decision(
        self, share: CrawlShare, site: Site, page: PlanRow, before: PageState, decision: Decision
    ) -> None:
        """Store the plan of *decision* for *page*, and the updated states."""
        (state, site_state, crawl), plan = decision
        share.sites.store_revisit_state(site, site_state)
        share.plans.crawl = crawl
        share.plans.planned += bool(state.due_at) - bool(before.due_at)
        row = replace(
            page,
            at=plan.at or None,
            reason=plan.reason,
            basis=plan.basis or "",
            policy=self._policy_of(share.crawl).name,
            statistics=revisit.pack(state),
        )
        self._rows.put(row)
        self._enter(share, site, row)

    def due(self) -> float | None:
        """Return when a visit is due that the budget allows; 0 if visits must be replanned."""
        self.schedule()
        found = (partition.plans_due.first() for partition in self._partitions)
        return min((first[0] for first in found if first), default=None)

    def schedule(self) -> None:
        """Compute when the changed plans are due. It is called in each step before `changed` ends
        with the write."""
        for partition, share in self._partitions.changed_shares():
            at = share.plans.due()
            if share.plans.is_behind(self._policy_of(share.crawl).name):
                at = 0.0
            if at is None or share.is_removed:
                partition.plans_due.remove(share.crawl)
            else:
                partition.plans_due.put(share.crawl, at)

    def with_due_plans(self, now: float) -> list[tuple[Partition, CrawlShare]]:
        """Return the partitions and shares whose plans are due, for changes in this step."""
        self.schedule()
        return [
            (partition, partition.share(crawl))
            for partition in self._partitions
            for crawl in partition.plans_due.pop_until(now)
        ]

    def follow(self, now: float, limit: int) -> None:
        """Allocate the budget, and replan at most *limit* visits that another policy planned."""
        changed = {share.crawl for _, share in self._partitions.changed_shares()}
        for crawl, of_crawl in self._of_crawl.items():
            if crawl in changed or of_crawl.allocation.is_due(now):
                of_crawl.allocation.allocate(now)
        for _, share in self.with_due_plans(now):
            plans, name = share.plans, self._policy_of(share.crawl).name
            plans.follow(name, now)
            if limit > 0 and plans.is_behind(name):
                moved = plans.pop_moved(limit)
                limit -= max(len(moved), MAX_MOVED_BUCKETS)
                read_ahead(self._store, [plans_of(moved)])
                for entry in moved:
                    if row := self.find_due_plan(share, entry):
                        self._replan(share, entry.site, row, now)

    def _replan(self, share: CrawlShare, site: Site, row: PlanRow, now: float) -> None:
        before = _states(share, site, row.statistics)
        states, plan = self._policy(share).replan(before, row.url)
        if plan.at == 0:
            plan = plan._replace(at=now)
        row = replace(row, visited_at=states.page.at or now)
        self._store_decision(share, site, row, before.page, Decision(states, plan))


def _plan_row(
    event: PageDeduplicated | VisitEnded | RobotsAnswered,
    visit: Visit | QueuedUrl,
    at: float,
    validators: Validators,
) -> PlanRow:
    """Return the plan row of *visit*, which has ended; the caller adds the next visit."""
    origin = visit.origin if isinstance(visit, QueuedUrl) else Origin.of(visit, visit.via)
    return PlanRow(
        event.crawl,
        event.host,
        visit.url,
        visited_at=at,
        origin=origin,
        earlier=visit.earlier + 1,
        validators=validators,
    )


def is_late(event: PageDeduplicated) -> bool:
    """Return whether a verdict is late, so that it must be compared with its URL's plan."""
    return event.at - (event.fetched_at or event.at) > LATE_SECONDS


def _entry(plan: PlanRow, at: float, site: Site) -> DueRow:
    """Return the entry of *plan* in the calendar of plans."""
    return DueRow("", plan.url, at, site, plan.host, plan.crawl, plan.url)


def _states(share: CrawlShare, site: Site, statistics: bytes) -> States:
    crawl = share.plans.crawl
    return States(revisit.unpack_page(statistics), share.sites.revisit_state(site), crawl)


def _update_trust(partition: Partition, share: CrawlShare, event: PageDeduplicated) -> None:
    """Update the trust in the validators of the host after a complete response. A text that changed
    only where it changes each time says nothing about them."""
    if event.verdict is Verdict.CHANGED and not event.change:
        return
    if event.status != NOT_MODIFIED and event.change is not None:
        trust = partition.sites.validators(event.site, event.host, event.at)
        after = trust.after(event.visit.validators, event.validators, event.change)
        _store_trust(partition, share, event.site, event.host, after)


def distrust_refused(
    partition: Partition, share: CrawlShare, site: Site, host: HostKey, now: float
) -> None:
    """Send no conditions to *host* for a while, because it has refused some."""
    after = partition.sites.validators(site, host, now).after_refusal(now)
    _store_trust(partition, share, site, host, after)


def _store_trust(
    partition: Partition, share: CrawlShare, site: Site, host: HostKey, after: Trust
) -> None:
    before = partition.sites.store_trust(site, host, after)
    # A host that refuses conditions again is counted once.
    if after.distrust_reason and not before.distrust_reason:
        share.plans.count_distrusted()


def _visit_of(event: PageDeduplicated, at: float) -> revisit.Visit:
    stated_at, change = event.validators.changed_at, event.change
    return revisit.Visit(
        event.visit.url,
        at,
        changed=bool(change),
        amount=change or 1.0,
        not_modified=event.status == NOT_MODIFIED,
        evidence=(Evidence(Kind.LAST_MODIFIED, stated_at),) if stated_at else (),
        first=change is None,
        expires_at=event.expires_at,
        in_links=event.in_links,
        internal_links=event.internal_links,
    )


def plans_of(entries: Iterable[DueRow]) -> Iterator[Key]:
    """Yield the keys of the plans of calendar *entries*."""
    for entry in entries:
        if entry.plan:
            yield PlanRow, *entry.plan
