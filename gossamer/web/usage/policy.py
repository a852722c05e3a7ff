"""What a crawl does with pages whose use for its purposes is disallowed or unknown.

The defaults are the strictest ones that are not absurd. The purpose is `search`, the first use of
`pages`. A page with a disallowed use is not fetched, because the crawl has no use for it. A page
without a statement is fetched, because nearly all pages have none.

Before the request only robots.txt and other files of the host are known. A use that only a header
or a meta element disallows has been requested by then: the page is neither published nor archived.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from gossamer.errors import BadSettings
from gossamer.web.usage.statements import CATEGORIES, UNKNOWN, Judgement


class Action(Enum):
    """The treatment of a page. A later one is stricter."""

    FETCH = "fetch"
    HIDE = "fetch and do not publish"
    SKIP = "do not fetch"


ACTIONS = tuple(action.value for action in Action)
_strictness = {action: number for number, action in enumerate(Action)}


class Decision(Struct, frozen=True):
    """What is done with a page, and why."""

    action: Action = Action.FETCH
    reason: str = ""
    """The statement that decided, or the purpose that no statement is about. "" if the page is
    published."""


class UsagePolicy(Struct, frozen=True):
    """The purposes of a crawl, and the action for each kind of judgement."""

    purposes: tuple[str, ...]
    disallowed: Action
    unknown: Action

    def decide(self, judgements: Mapping[str, Judgement]) -> Decision:
        """Return the strictest action for any purpose; the first purpose with it is the reason."""
        found = Decision()
        for purpose in self.purposes:
            judgement = judgements.get(purpose, UNKNOWN)
            action = self._action(judgement.allowed)
            if _strictness[action] > _strictness[found.action]:
                found = Decision(action, _reason(purpose, judgement))
        return found

    def _action(self, allowed: bool | None) -> Action:
        if allowed is None:
            return self.unknown
        return Action.FETCH if allowed else self.disallowed


def _reason(purpose: str, judgement: Judgement) -> str:
    return str(judgement.by[0]) if judgement.by else f"no statement allows {purpose}"


class Purposeful(Protocol):
    """The definition of a crawl or its settings, as far as they are about usage."""

    @property
    def purposes(self) -> tuple[str, ...]:
        """The categories of use that the crawl is for."""

    @property
    def usage_disallowed(self) -> str:
        """The action where a purpose is disallowed."""

    @property
    def usage_unknown(self) -> str:
        """The action where a purpose is unknown."""


def policy_of(crawl: Purposeful) -> UsagePolicy:
    """Return the policy of *crawl*; raise BadSettings, with the name, for an impossible setting."""
    return _policy(tuple(crawl.purposes), crawl.usage_disallowed, crawl.usage_unknown)


@lru_cache(maxsize=64)
def _policy(purposes: tuple[str, ...], disallowed: str, unknown: str) -> UsagePolicy:
    _check_purposes(purposes)
    for name, value in (("usage_disallowed", disallowed), ("usage_unknown", unknown)):
        if value not in ACTIONS:
            raise BadSettings(f"crawl.{name}: {value!r} is not one of {_list(ACTIONS)}")
    policy = UsagePolicy(purposes, Action(disallowed), Action(unknown))
    if _strictness[policy.unknown] > _strictness[policy.disallowed]:
        raise BadSettings(
            f"crawl.usage_unknown: {unknown!r} is stricter than crawl.usage_disallowed, which is "
            f"{disallowed!r}: a site that allows nothing would be treated better than a silent one"
        )
    return policy


def _check_purposes(purposes: tuple[str, ...]) -> None:
    known = [category.value for category in CATEGORIES]
    for purpose in purposes:
        if purpose not in known:
            raise BadSettings(f"crawl.purposes: {purpose!r} is not one of {_list(known)}")
        if purposes.count(purpose) > 1:
            raise BadSettings(f"crawl.purposes: {purpose!r} is there twice")


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
