"""The HTTP API: the read model of a crawl as JSON.

Litestar was chosen because it encodes the msgspec types of the read model as they are, and
describes them in OpenAPI. `app` puts the routes together, `routes` has one module for each
subject, and `readers` has the lanes of threads that read the crawl.
"""
