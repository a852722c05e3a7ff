"""An honest web: kinds of sites that look like traps, and have nothing but pages worth a visit.

Structure: `prose` makes running text, `page` HTML and lists, and `kinds` has the table of kinds.
`web` is a web of any number of kinds, which `tests.synthweb` serves, and `crawl` crawls them
with default settings and compares the requests with the pages. `python -m tests.honest` prints the
pages that the crawls lost.

Answers are a function of the URL, and missing paths answer 404. Only `crawl` runs the crawler, as
a command: nothing here imports it, so that its heuristics cannot become the expected result.
"""
