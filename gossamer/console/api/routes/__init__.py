"""The routes of the API, in one module for each subject: each decorated function is a route."""

from litestar.handlers import HTTPRouteHandler

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

MODULES = (session, crawls, urls, hosts, controls, requests, live, notifications, pages)
ROUTES = tuple(
    found
    for module in MODULES
    for found in vars(module).values()
    if isinstance(found, HTTPRouteHandler)
)
