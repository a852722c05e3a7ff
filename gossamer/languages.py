"""Macrolanguages of ISO 639-3: codes that name several languages, each of which has its own code.

The detector names some of them, and cannot tell their languages apart reliably.
"""

MACROLANGUAGES = {
    "no": frozenset({"nb", "nn"}),
    "sh": frozenset({"bs", "cnr", "hr", "sr"}),
}
"""Norwegian, and Serbo-Croatian, which ISO 639-1 has withdrawn: their languages."""
MISTAKEN = frozenset({"bs", "hr"})
"""Languages that the detector confuses: Bosnian is mostly detected as Croatian."""
_macros = {one: macro for macro, members in MACROLANGUAGES.items() for one in members}


def choose_language(detected: str, declared: str) -> str:
    """Return *declared* if it is a language of the macrolanguage of *detected*, else *detected*."""
    is_same = detected != declared and macro_of(detected) == _macros.get(declared)
    return declared if is_same else detected


def macro_of(code: str) -> str:
    """Return the macrolanguage of the language *code*; *code* itself if it has none."""
    return _macros.get(code, code)


def codes_of(language: str, declared: str = "") -> frozenset[str]:
    """Return the codes by which a query may ask for a text that is detected as *language*.

    A text in a macrolanguage may be in each of its languages, and a text in a mistaken language in
    each of these, unless the tag *declared* confirms it.
    """
    codes = frozenset({language, macro_of(language)}) | MACROLANGUAGES.get(language, frozenset())
    is_confirmed = declared[:2].lower() in MISTAKEN
    return codes | MISTAKEN if language in MISTAKEN and not is_confirmed else codes
