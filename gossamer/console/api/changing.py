"""How requests change something: as a plan of `changes`, which is reported or committed."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from gossamer import clock
from gossamer.changes.commit import Committed, commit, preview
from gossamer.changes.plan import ChangeRequest, Plan
from gossamer.console.api.gate import ROLE, SHARED, actor_in
from gossamer.console.api.identity import Actor
from gossamer.console.api.parameters import CRAWL, CrawlInPath
from gossamer.console.api.readers import CrawlReader, Readers
from gossamer.crawl import check_id
from gossamer.errors import BadSettings, GossamerError
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.settings.api import Role

MAX_EXPIRY = 10 * 365 * 86400.0
"""Maximum seconds until an earlier setting returns."""
MAX_ITEMS = 1000
"""URLs, rules or names in one request."""
Text = Annotated[str, Meta(max_length=8192)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=MAX_ITEMS)]
Reason = Annotated[str, Meta(max_length=1000)]
DryRun = Annotated[
    bool, QueryParameter(description="Whether only the effect is returned, and nothing changed.")
]
MakePlan = Callable[[OpenCrawl, float], Plan]
SetAt = Callable[[OpenCrawl], float]
"""Returns when a setting was set, in epoch seconds; 0 if it never was."""
TIME_ERROR = 1e-6
"""Seconds by which a client may round the time of a setting that it sends back."""
CarryOut = Callable[[OpenCrawl, ChangeRequest, float, bool], Committed]
"""Carries out a change at this time, or reports its effect if it is a dry run."""


class Change(Struct, kw_only=True, forbid_unknown_fields=True):
    """What each change states."""

    reason: Reason = ""
    """The reason for the change, which `gossamer audit` shows. `api.require_reason` makes it
    obligatory."""


class LostUpdate(GossamerError):
    """A change of a setting that somebody else has changed since its sender read it."""


class SettingChange(Change, kw_only=True):
    """What each change of a setting states."""

    replaces: float | None = None
    """`at` of the setting that the sender has read, 0 if it was never set. If another change came
    since, this one is refused with the status 412. Null means that the newest setting is changed,
    whatever it is."""
    expires_in: Annotated[float, Meta(gt=0, le=MAX_EXPIRY)] | None = None
    """Seconds until the earlier setting returns; null means never."""


class Changer:
    """Carries out the changes of one request."""

    def __init__(
        self,
        state: State,
        request: Request[Any, Any, Any],
        actor: Actor,
        crawl: str | None,
        is_dry_run: bool,
    ) -> None:
        self._readers: Readers = state.readers
        self._lock: threading.Lock = state.changing
        self._requires_reason: bool = state.requires_reason
        self.actor, self._address = actor, request.client.host if request.client else ""
        self._crawl, self.is_dry_run = crawl, is_dry_run

    async def carry_out(
        self,
        change: Change,
        make_plan: MakePlan,
        set_at: SetAt | None = None,
        may_be_new: bool = False,
    ) -> Committed:
        """Make the plan for the crawl at the present time; report or commit it.

        *set_at* returns when the setting that is changed was set. Raise LostUpdate if *change*
        replaces an older one. *may_be_new*: whether the crawl need not be defined.
        """
        replaces = getattr(change, "replaces", None)

        def run(
            crawl: OpenCrawl, request: ChangeRequest, now: float, is_dry_run: bool
        ) -> Committed:
            # One change of a setting at a time: none comes between the check and the commit. Other
            # changes may read whole tables, and wait for nothing.
            with self._lock if set_at else nullcontext():
                if set_at and replaces is not None:
                    check_newest(replaces, set_at(crawl))
                plan = make_plan(crawl, now)
                if is_dry_run:
                    return Committed(id=None, effect=preview(plan))
                return commit(crawl.log, plan, request, now)

        return await self.run(change, run, may_be_new)

    async def run(self, change: Change, carry_out: CarryOut, may_be_new: bool = False) -> Committed:
        """Call *carry_out* with the request and the present time, in the lane for whole tables."""
        if self._requires_reason and not (self.is_dry_run or change.reason.strip()):
            raise BadSettings("a change needs a reason here (api.require_reason): add `reason`")
        expires_in = change.expires_in if isinstance(change, SettingChange) else None
        request = ChangeRequest(
            actor=self.actor.name,
            role=self.actor.role,
            source="console" if self.actor.is_browser else "api",
            address=self._address,
            reason=change.reason,
            expires_at=clock.now() + expires_in if expires_in else None,
        )

        # Some plans search all URLs while they are counted.
        return await CrawlReader(self._readers, None if may_be_new else self._crawl).scan(
            lambda crawl: carry_out(crawl, request, clock.now(), self.is_dry_run)
        )


def check_newest(replaces: float, set_at: float) -> None:
    """Raise LostUpdate unless the setting that was set at *set_at* is the one that the sender has
    read."""
    if abs(replaces - set_at) > TIME_ERROR:
        when = f"was changed at {instant(set_at)}" if set_at else "was removed"
        raise LostUpdate(
            f"the setting {when}, after you read it: read it again, and repeat your change if it "
            "is still right. The audit log shows who changed it and why"
        )


async def _provide_changer(
    request: Request[Any, Any, Any], state: State, crawl: CrawlInPath, dry_run: DryRun = False
) -> Changer:
    check_id(crawl)
    actor = actor_in(request.scope)
    actor.check_crawl(crawl)
    return Changer(state, request, actor, crawl, dry_run)


async def _provide_shared_changer(
    request: Request[Any, Any, Any], state: State, dry_run: DryRun = False
) -> Changer:
    return Changer(state, request, actor_in(request.scope), None, dry_run)


FromRequest = NamedDependency[Changer]
"""Carries out the changes of the request, as the argument `changer`."""
OF_CRAWL = {"changer": Provide(_provide_changer)}
"""The dependencies of routes that change the crawl in their paths."""
OF_ALL = {"changer": Provide(_provide_shared_changer)}
"""The dependencies of routes that change what all crawls share."""


def changing(
    method: Callable[..., HTTPRouteHandler],
    path: str,
    summary: str,
    *,
    role: Role = "operate",
    is_shared: bool = False,
    of: dict[str, Provide] | None = None,
) -> HTTPRouteHandler:
    """Return the decorator of a route that changes something, as *role*.

    If *path* names no crawl, or with *is_shared*, only rights on all crawls suffice. *of*: the
    dependencies, if they are not those of the path.
    """
    is_of_crawl = path.startswith(CRAWL)
    return method(
        path,
        summary=summary,
        status_code=200,
        opt={ROLE: role, SHARED: is_shared or not is_of_crawl},
        dependencies=of or (OF_CRAWL if is_of_crawl else OF_ALL),
    )
