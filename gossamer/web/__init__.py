"""What the Web's standards say, without a socket: URLs, scopes, robots.txt, headers, codings."""
