"""A web of consent: usage statements, requests for signatures, and walls.

Structure: a `ConsentWeb` is a set of numbers. Its first hosts have combinations of usage statements
(`statements`: what sites write, each with its meaning), and `truth` says what follows from them.
Its other hosts have walls (`walls`), in front of their pages or in place of their robots.txt.
`signatures` verifies signed requests with an implementation that is not ours. `web` has the hosts
and their answers, `measure` evaluates the recorded requests and the published verdicts of a
crawler, and `table` writes the combinations into docs/usage-verdicts.md.

The web is served by `tests.synthweb`, in a process of its own:

    with RunningConsent(ConsentWeb(key="public.pem")) as web:
        crawl(web.seeds, nameserver=web.nameserver)
        assert not web.conduct().pursued
        assert not wrong_verdicts(published_pages, web.hosts.pages)

Nothing here imports the crawler, so that an error of the crawler cannot become the expected result.
"""

from .measure import Conduct, RunningConsent, conduct_of, verdicts_of_page, wrong_verdicts
from .web import ConsentWeb, Hosts

__all__ = [
    "Conduct",
    "ConsentWeb",
    "Hosts",
    "RunningConsent",
    "conduct_of",
    "verdicts_of_page",
    "wrong_verdicts",
]
