"""The routes of the API, in one module for each subject."""

from typing import Any

from gossamer.console.api.routes import (
    controls,
    crawls,
    hosts,
    live,
    notifications,
    pages,
    requests,
    session,
    urls,
)

ROUTES: tuple[Any, ...] = (
    *session.ROUTES,
    *crawls.ROUTES,
    *urls.ROUTES,
    *hosts.ROUTES,
    *controls.ROUTES,
    *requests.ROUTES,
    *live.ROUTES,
    *notifications.ROUTES,
    *pages.ROUTES,
)
