"""How requests change something: as a plan of `changes`, which is reported or committed."""

from collections.abc import Callable
from typing import Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from changes.commit import Committed, commit, preview
from changes.plan import ChangeRequest, Plan
from console.api.gate import actor_in
from console.api.identity import Actor
from console.api.parameters import CrawlInPath
from console.api.readers import CrawlReader, Readers
from gossamer import clock
from gossamer.crawl import check_id
from inspection.crawl import OpenCrawl

MAX_EXPIRY = 10 * 365 * 86400.0
"""Seconds."""
MAX_ITEMS = 1000
"""URLs, rules or names in one request."""
Text = Annotated[str, Meta(max_length=8192)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=MAX_ITEMS)]
Reason = Annotated[str, Meta(max_length=1000)]
DryRun = Annotated[
    bool, QueryParameter(description="Whether only the effect is returned, and nothing changed.")
]
MakePlan = Callable[[OpenCrawl, float], Plan]
CarryOut = Callable[[OpenCrawl, ChangeRequest, float, bool], Committed]
"""Carries out a change at this time, or reports its effect if it is a dry run."""


class Change(Struct, kw_only=True, forbid_unknown_fields=True):
    """What each change states."""

    reason: Reason = ""
    """The reason for the change, which `gossamer audit` shows."""


class SettingChange(Change, kw_only=True):
    """What each change of a setting states."""

    expires_in: Annotated[float, Meta(gt=0, le=MAX_EXPIRY)] | None = None
    """Seconds until the earlier setting returns; null means never."""


class Changer:
    """Carries out the changes of one request."""

    def __init__(
        self, readers: Readers, actor: Actor, address: str, crawl: str | None, is_dry_run: bool
    ) -> None:
        self._readers, self._actor, self._address = readers, actor, address
        self._crawl, self.is_dry_run = crawl, is_dry_run

    async def carry_out(self, change: Change, make_plan: MakePlan) -> Committed:
        """Make the plan for the crawl at the present time; report or commit it."""

        def run(
            crawl: OpenCrawl, request: ChangeRequest, now: float, is_dry_run: bool
        ) -> Committed:
            plan = make_plan(crawl, now)
            if is_dry_run:
                return Committed(id=None, effect=preview(plan))
            return commit(crawl.log, plan, request, now)

        return await self.run(change, run)

    async def run(self, change: Change, carry_out: CarryOut) -> Committed:
        """Carry out a change that is more than a plan, at the present time."""
        expires_in = change.expires_in if isinstance(change, SettingChange) else None
        request = ChangeRequest(
            actor=self._actor.name,
            role=self._actor.role,
            source="console" if self._actor.is_browser else "api",
            address=self._address,
            reason=change.reason,
            expires_at=clock.now() + expires_in if expires_in else None,
        )

        # In the lane for whole tables: some plans search all URLs while they are counted.
        return await CrawlReader(self._readers, self._crawl).scan(
            lambda crawl: carry_out(crawl, request, clock.now(), self.is_dry_run)
        )


async def _provide_changer(
    request: Request[Any, Any, Any], state: State, crawl: CrawlInPath, dry_run: DryRun = False
) -> Changer:
    check_id(crawl)
    actor = actor_in(request.scope)
    actor.check_crawl(crawl)
    return Changer(state.readers, actor, _address(request), crawl, dry_run)


async def _provide_new_crawl_changer(
    request: Request[Any, Any, Any], state: State, crawl: CrawlInPath, dry_run: DryRun = False
) -> Changer:
    check_id(crawl)
    actor = actor_in(request.scope)
    actor.check_crawl(crawl)
    return Changer(state.readers, actor, _address(request), None, dry_run)


async def _provide_shared_changer(
    request: Request[Any, Any, Any], state: State, dry_run: DryRun = False
) -> Changer:
    return Changer(state.readers, actor_in(request.scope), _address(request), None, dry_run)


def _address(request: Request[Any, Any, Any]) -> str:
    return request.client.host if request.client else ""


FromRequest = NamedDependency[Changer]
"""Carries out the changes of the request, as the argument `changer`."""
OF_CRAWL = {"changer": Provide(_provide_changer)}
"""The dependencies of routes that change the crawl in their paths."""
OF_NEW_CRAWL = {"changer": Provide(_provide_new_crawl_changer)}
"""The dependencies of the route that may define the crawl in its path."""
OF_ALL = {"changer": Provide(_provide_shared_changer)}
"""The dependencies of routes that change what all crawls share."""
