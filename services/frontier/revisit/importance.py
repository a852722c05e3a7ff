"""How much the freshness of a page is worth beside that of others: its weight.

What is known of a URL when it is first planned: how many links it lies from a seed, and the
priority that was asked for. A reader who goes from page to page follows one more link with a
likelihood of some 2/3: on the sites that Baeza-Yates and Castillo looked at (*Crawling the infinite
Web: five levels are enough*, 2004), nine of ten page views lay within three to five links of the
start, which is 0.56 to 0.68 a link. So weights halve every 1.7 links, and stay there from the
eighth on: what lies deep is worth little, and not nothing.

Links from other sites would say more; the frontier does not know them. A weight is set once, at
a page's first plan: sums over pages hold it.
"""

FOLLOWED = 2 / 3
DEEPEST = 7
"""Links from a seed, beyond which all pages weigh the same."""
STEP = 2
"""Steps of priority that double a weight; the lower the priority's number, the sooner."""
MOST = 8
"""Steps of priority that count."""


def weight_of(depth: int, priority: int) -> float:
    """Return the weight of a page *depth* links from a seed; a seed of priority 0 has weight 1."""
    asked = -min(max(priority, -MOST), MOST) / STEP
    return float(FOLLOWED ** min(max(depth, 0), DEEPEST) * 2**asked)
