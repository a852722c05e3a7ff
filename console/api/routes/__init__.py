"""The routes of the API, in one module for each subject."""

from typing import Any

from console.api.routes import crawls, hosts, urls

ROUTES: tuple[Any, ...] = (*crawls.ROUTES, *urls.ROUTES, *hosts.ROUTES)
