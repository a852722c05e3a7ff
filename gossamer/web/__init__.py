"""The Web's standards, without a socket: URLs, scopes, robots.txt, headers, content codings."""
