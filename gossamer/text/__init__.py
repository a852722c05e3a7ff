"""What is said of a page's text when it is fetched again, from little that is kept of it.

Whether a text has changed is decided by its digest, which the parser makes of all that a reader
sees. `sketch` says by how much it has, from 64 bytes of each version. `volatile` tells a change
that means something from a date in the footer: it learns from the page's own versions which of its
`blocks` are other ones at every visit, and `difference` shows it where two versions differ without
either of them being kept.
"""
