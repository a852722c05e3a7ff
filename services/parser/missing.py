"""Marks what a host answers where it has no page (hazard `soft_404`), by its signature.

Apart from what reads pages: it asks for a digest and a Location, whoever has read them. What shows
its text only to browsers is not marked: the same empty frame may be any page.
"""

from gossamer.events import PageFetched, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web.http import first_value
from gossamer.web.soft_404 import has_text_of, is_home_page, leads_where
from services.parser.passed_on import with_hazards


def marked(page: PageFetched, parsed: PageParsed) -> PageParsed:
    """Return *parsed*, which was read of *page*, with the hazard if it is no page after all."""
    is_one = _is_soft_404(page, parsed)
    return with_hazards(parsed, [Hazard.SOFT_404]) if is_one else parsed


def _is_soft_404(page: PageFetched, parsed: PageParsed) -> bool:
    known, url = page.signature, page.visit.url
    if not known.at or page.visit.purpose is not Purpose.PAGE or is_home_page(url):
        return False
    if leads_where(known, page.status, first_value(page.headers, "location")):
        return True
    if not 200 <= page.status < 300 or parsed.needs_rendering:
        return False
    return has_text_of(known, parsed.digest, parsed.simhash)
