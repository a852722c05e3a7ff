"""Changes of the blocklist."""

from collections.abc import Sequence

from gossamer.blocklist import describe_rule
from gossamer.changes.effects import estimate_block
from gossamer.changes.plan import Effect, Plan, setting_plan
from gossamer.crawl import blocklist_of
from gossamer.events import BlocklistChanged
from gossamer.expiries import expiries_of
from gossamer.inspection.basics.figures import first_few, plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import key_of


def plan_block(crawl: OpenCrawl, rules: Sequence[str], now: float) -> Plan:
    """Return the plan that adds *rules*, as `parse_rule` returns them, to the blocklist."""
    current, expiring = blocklist_of(crawl.log).rules, expiries_of(crawl.log)
    lasting = {rule for rule, event in current.items() if key_of(event) not in expiring}
    added = [rule for rule in rules if rule not in lasting]
    effect = Effect(
        text=f"{plural(len(added), 'rule')} added. Requests in flight finish; queued URLs are "
        "parked until the rule is lifted.",
        lines=tuple(f"{rule} is blocked: {describe_rule(rule)}" for rule in added),
        refused=tuple(
            f"{rule} was blocked already: {describe_rule(rule)}"
            for rule in rules
            if rule in lasting
        ),
        count=len(added),
    )
    before = [
        current.get(rule) or BlocklistChanged(at=0.0, rule=rule, lifted=True) for rule in added
    ]
    after = [BlocklistChanged(at=now, rule=rule) for rule in added]
    return setting_plan(
        crawl.log,
        "block",
        first_few(added),
        before,
        after,
        effect,
        lambda: estimate_block(crawl, added),
    )


def plan_unblock(crawl: OpenCrawl, rules: Sequence[str], now: float) -> Plan:
    """Return the plan that lifts *rules* of the blocklist."""
    current = blocklist_of(crawl.log).rules
    lifted = [rule for rule in rules if rule in current]
    effect = Effect(
        text=f"{plural(len(lifted), 'rule')} lifted. Parked URLs are admitted again, visited pages "
        "at their next planned visit (gossamer refetch: now), hosts in a blocked network within an "
        "hour (gossamer retry: now).",
        lines=tuple(f"{rule} is not blocked any more." for rule in lifted),
        refused=tuple(
            f"{rule} is not on the blocklist: gossamer blocklist lists its rules."
            for rule in rules
            if rule not in current
        ),
        count=len(lifted),
    )
    before = [current[rule] for rule in lifted]
    after = [BlocklistChanged(at=now, rule=rule, lifted=True) for rule in lifted]
    return setting_plan(crawl.log, "unblock", first_few(lifted), before, after, effect)
