"""Rules of the crawl in `test_continuing`."""


def keep(page: object) -> bool:
    return True
