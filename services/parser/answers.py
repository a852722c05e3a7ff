"""Marks answers by what is known beside their documents: apart from what reads these.

What a host answers where it has no page (hazard `soft_404`) is told by its signature. What shows
its text only to browsers is not marked: the same empty frame may be any page. A Last-Modified that
cannot be true (`wrong_date`) is passed over by who uses it; here it is counted.
"""

from gossamer.events import PageFetched, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web.http import first_value
from gossamer.web.soft_404 import has_text_of, is_home_page, leads_where
from gossamer.web.validators import modified_at
from services.parser.passed_on import with_hazards
from services.parser.times import BEFORE_THE_WEB

LEEWAY = 60.0
"""Seconds by which a server's clock may be ahead of ours: pages are made up as they are asked for.
"""


def marked(page: PageFetched, parsed: PageParsed) -> PageParsed:
    """Return *parsed*, which was read of *page*, with the hazards that its answer shows."""
    met = {
        Hazard.SOFT_404: _is_soft_404(page, parsed),
        Hazard.WRONG_DATE: 200 <= page.status < 300 and _is_wrong(page),
    }
    hazards = [hazard for hazard, is_met in met.items() if is_met]
    return with_hazards(parsed, hazards) if hazards else parsed


def _is_soft_404(page: PageFetched, parsed: PageParsed) -> bool:
    known, url = page.signature, page.visit.url
    if not known.at or page.visit.purpose is not Purpose.PAGE or is_home_page(url):
        return False
    if leads_where(known, page.status, first_value(page.headers, "location")):
        return True
    if not 200 <= page.status < 300 or parsed.needs_rendering:
        return False
    return has_text_of(known, parsed.digest, parsed.simhash)


def _is_wrong(page: PageFetched) -> bool:
    at = modified_at(page.headers)
    return at is not None and not BEFORE_THE_WEB <= at <= page.started_at + LEEWAY
