"""Dates as epoch seconds, in all forms that are common in sitemaps, feeds, files and pages.

Dates follow a standard (W3C's profile of ISO 8601, RFC 822), the habit of a programming language,
or are written for people. `parse_date` reads all of these, and only unambiguous ones: `3/4/2024` is
a day in March or in April, unless its weekday is named. A date without a zone is in UTC.
`parse_web_date` leaves out implausible dates: a page, a PDF or an office file is not from the
future, and not older than the Web.

A zone is an offset, a common abbreviation, or a name of the IANA (`Europe/Berlin`). The time of any
other zone is read as UTC.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from gossamer.services.parser.months import NUMBERS, normalize
from gossamer.web.validators import WEB_BEGAN_AT

MAX_DATE_LENGTH = 64
"""Most characters of a date that are read."""
MAX_CLOCK_SKEW = 86400.0
"""Seconds by which a clock or a time zone may be ahead of ours."""
HOUR, DAY = 3600.0, 86400.0
MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
WEEKDAYS = "montuewedthufrisatsun"
LAST_MONTH = 12
NOON = 12
LAST_SHORT_YEAR_OF_2000S = 68
"""Years of two digits up to this one are after 2000 (POSIX, strptime)."""
ZONES = {
    **dict.fromkeys(("Z", "UTC", "GMT", "UT", "WET"), 0),
    **dict.fromkeys(("CET", "MET", "WEST", "BST"), 1),
    **dict.fromkeys(("CEST", "MEST", "EET", "SAST"), 2),
    **dict.fromkeys(("EEST", "MSK"), 3),
    **{"PKT": 5, "AWST": 8, "AKDT": -8, "AKST": -9, "HST": -10, "BRT": -3},
    **{"WIB": 7, "ICT": 7, "SGT": 8, "HKT": 8, "WITA": 8, "JST": 9, "KST": 9, "WIT": 9},
    **{"AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13},
    **{"EDT": -4, "EST": -5, "CDT": -5, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8},
}
"""Hours of common names of zones. The meaning of other names depends on the place."""
ZONES_OF_MAIL = {"CST": -6}
"""Hours of names that mean another zone elsewhere, in a date of RFC 822, which defines them. Java
writes CST in China, too, but in another form of the date."""
PLACES = {
    "ET": "America/New_York",
    "CT": "America/Chicago",
    "MT": "America/Denver",
    "PT": "America/Los_Angeles",
}
"""Names for a zone in any season, in dates of RFC 822 and behind `a.m.` and `p.m.`. `et` is a word
of French."""

_zone = r"[+-](?:\d\d(?::?\d\d)?|\d:?\d\d|\d)"
"""`+05:30`, `+0530`, `+05`, `+5:30`, `+530` and `+5`."""
_w3c = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ]+(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d*)?)?"
    rf"\s*([Zz]|{_zone})?)?)?)?",
    re.ASCII,
)
_pdf = re.compile(
    r"(?:D:)?(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)?(\d\d)?(?:([Zz]|[+-]\d\d(?:'?\d\d)?).*)?)?)?)?",
    re.ASCII,
)
"""ISO 32000, 7.9.4: `D:20240229120000+01'00'`."""
_year = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_name = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![^\W\d_])\.?,?"
)
_ordinal = "(?:st|nd|rd|th)?"
_day = rf"(?<!\d)(?P<day>\d\d?){_ordinal}"
_day_of_mail = rf"{_day}(?:\sof\s|[.,]?[\s/-]*){_name}[\s/-]*(?:{_year}|(?P<short>\d\d)(?![\d:]))"
"""The order of RFC 822: `08 May 2024`."""
_dates = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>(?:19|20)\d\d)([-/]|\.\s?)(?P<month>\d\d?)\2(?P<day>\d\d?)(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)(?=(?:\d{4}|\d{6})?(?!\d))",
        _day_of_mail,
        rf"{_name}\s*{_day}(?:,\s*|\s+){_year}",
        rf"{_name}\s*{_day},?\s+(?=\d\d?:\d\d)(?:.*?(?<!\d){_year})",
        rf"{_day}\.\s?(?P<month>\d\d?)\.\s?{_year}",
        rf"(?<!\d)(?P<first>\d\d?)([-/])(?P<second>\d\d?)\2{_year}",
        rf"(?<!\d){_year}[\s.-]*{_name}[\s.-]*{_day}(?![\d:])",
    )
)
"""The forms of a day, those with the year first before others."""
_word = r"[^\W\d_]+"
_odd_names = sorted((name for name in NUMBERS if not re.fullmatch(_word, name)), key=len)
"""Names of months with a space, a full stop or the mark of a vowel."""
_names = "|".join([*map(re.escape, reversed(_odd_names)), _word])
"""Any word, because to compile all 1,300 names would take 25 ms for each form that has one."""
_other_month = rf"(?<![^\W\d_ב])(?P<name>{_names})(?![^\W\d_])"
_other_dates = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?:(?P<year>(?:19|20)\d\d)|(?P<era>令和|平成|昭和)\s?(?P<of_era>\d\d?|元))\s?[年년]\s?"
        r"(?P<month>\d\d?)\s?[月월]\s?(?P<day>\d\d?)\s?[日号號일]",
        rf"(?<!\d)(?P<day>\d\d?)(?:\.|o|er|a)?[\s/-]*(?:(?:de|d['\u2019])\s*|ב)?{_other_month}\.?[,،]?[\s/-]*"
        rf"(?:(?:de|del)\s+)?(?:(?:ค\.ศ\.\s?)?{_year}|(?:พ\.ศ\.\s?)?(?P<buddhist>25\d\d)(?!\d))",
        rf"(?<!\d)(?P<day>\d\d?)\s?(?:tháng|thg)\s?(?P<month>\d\d?),?\s?(?:năm\s?)?{_year}",
        rf"{_other_month}\.?\s+(?P<day>\d\d?){_ordinal},?\s+{_year}",
        # "2024 m. sausio 20 d." in Lithuanian, and "2024. gada 20. janvāris" in Latvian.
        rf"(?<!\d){_year}\.?\s*(?:[^\W\d_]{{1,2}}\.\s*)??{_other_month}\.?\s*(?P<day>\d\d?)(?![\d:])",
        rf"(?<!\d){_year}\.?\s(?:gada|ж\.)\s(?P<day>\d\d?)\.?\s{_other_month}",
    )
)
"""The forms of a day in other languages than English."""
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
"""The year before the first one of each era of Japan."""
BUDDHIST_ERA = 543
"""Years by which the calendar of Thailand is ahead."""
_written_time = re.compile(
    r"(?<![\d.:])(\d\d?)\s?(?:h|時|时|點|点|시)\s?(\d\d?)(?!\d)(?:\s?[分분](?:\s?\d\d?\s?[秒초])?)?|"
    r"(?:\b(?:klo|kl|om)\.?\s?|^(?=\d\d\.))(\d\d?)\.(\d\d)(?:\.\d\d)?(?![\d.])",
    re.IGNORECASE,
)
"""`7h08`, `7時08分`, `kl. 7.08`, and `07.08` directly behind a day."""
_weekday = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s*$", re.IGNORECASE)
_afternoon = re.compile(
    r"午後|下午|下晝|下昼|晚上|오후|\bμ\.?μ\b|مساء|بعدازظهر|ب\.ظ|अपराह्न|অপৰাহ্ন|ညနေ|หลังเที่ยง|ከሰዓት|\bös\b"
    r"|:\d\d\s?(?:م|ptg|m\.d\.)(?!\w)",
    re.IGNORECASE,
)
_morning = re.compile(
    r"午前|上午|凌晨|오전|\bπ\.?μ\b|صباح|\böö\b|:\d\d\s?(?:ص|pg|p\.d\.)(?!\w)", re.IGNORECASE
)
"""Words beside a time of the half of a day, in the languages of the CLDR that have 12 hours. The
Arabic letter for the afternoon is that of the common era behind a year."""
_time = re.compile(
    r"(?<![\d:.])(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?!\d)(?:\s*([ap])\.?\s?m\b\.?)?"
    rf"(?:\s*(?:(?:utc|gmt|z)?\s*({_zone})(?!\d)|[(\[]?([a-z_]+(?:/[a-z\d_+-]+)+|[a-z]{{1,4}}\b)))?",
    re.ASCII | re.IGNORECASE,
)
_compact_time = re.compile(r"T?(\d\d)(\d\d)(\d\d)?()(?:\s*([+-]\d\d:?\d\d)|(Z))?", re.ASCII)
_month, _day_of_month = "0[1-9]|1[0-2]", r"0[1-9]|[12]\d|3[01]"
_in_url = tuple(
    re.compile(form)
    for form in (
        r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2]|[a-z]{3})[/-](0?[1-9]|[12]\d|3[01])(?=[/_.-]|$)",
        # `/20240816/`, `/202408/16/` and `/t20240816_1.htm`. `/2024/1016/` may be page 1016.
        rf"/(20\d\d)({_month})/?({_day_of_month})/",
        rf"/t(20\d\d)({_month})({_day_of_month})_\d+\.",
    )
)


def parse_date(text: str) -> float:
    """Return the time of a date in any common form; 0 if there is none, or if it is ambiguous.

    Missing parts are the earliest possible. The time of a day that is invalid is its start.
    """
    text = text[: 2 * MAX_DATE_LENGTH]
    if not text.isascii():
        text = normalize(text).replace("\u2212", "-")
        text = re.sub(r"\d", lambda digit: str(int(digit[0])), text)
    text = " ".join(text.split())[:MAX_DATE_LENGTH]
    is_of_pdf = text.startswith("D:") or "'" in text
    exact = _w3c.fullmatch(text) or (_pdf.fullmatch(text) if is_of_pdf else None)
    if exact and (time := _to_epoch(exact)):
        return time
    forms = (form.search(text) for form in _dates)
    if found := next(filter(None, forms), None) or _find_other_date(text):
        day = _day_of(found)
        return max(0.0, _add_time(day, text, found)) if day else 0.0
    return _parse_epoch(text)


def parse_web_date(text: str, now: float) -> float:
    """Return the time of *text*; 0 if it is invalid, before the Web or after *now*."""
    time = parse_date(text)
    return time if WEB_BEGAN_AT <= time <= now + MAX_CLOCK_SKEW else 0.0


def _find_other_date(text: str) -> re.Match[str] | None:
    """Return the first of the other forms in *text* that names a month."""
    for form in _other_dates:
        found = form.search(text)
        while found:
            name = found.groupdict().get("name")
            if name is None or name.lower() in NUMBERS:
                return found
            found = form.search(text, found.start() + 1)
    return None


def _day_of(found: re.Match[str]) -> float:
    """Return the start of the day in *found*; 0 if it is invalid or ambiguous."""
    parts = found.groupdict()
    year, month, day = parts["year"], parts.get("month"), parts.get("day")
    if name := parts.get("name"):
        month = str(NUMBERS[name.lower()])
    if era := parts.get("era"):
        year = str(ERAS[era] + (1 if parts["of_era"] == "元" else int(parts["of_era"])))
    elif buddhist := parts.get("buddhist"):
        year = str(int(buddhist) - BUDDHIST_ERA)
    if year is None:
        short = int(parts["short"])
        year = str(short + (2000 if short <= LAST_SHORT_YEAR_OF_2000S else 1900))
    if month is None or day is None:
        first, second = int(parts["first"]), int(parts["second"])
        if first <= LAST_MONTH and second <= LAST_MONTH and first != second:
            return _day_by_weekday(found, int(year), first, second)
        day, month = map(str, (first, second) if second <= LAST_MONTH else (second, first))
    return _day_start(int(year), month, int(day))


def _day_by_weekday(found: re.Match[str], year: int, *numbers: int) -> float:
    """Return the only day and month of *numbers* that have the weekday before *found*; 0 if none.

    Drupal writes `Wed, 03/08/2023`.
    """
    named = _weekday.search(found.string, 0, found.start())
    starts = (_day_start(year, str(month), day) for day, month in (numbers, numbers[::-1]))
    days = [
        start
        for start in starts
        if named
        and WEEKDAYS.find(named[1].lower()) == 3 * datetime.fromtimestamp(start, UTC).weekday()
    ]
    return days[0] if len(days) == 1 else 0.0


def _add_time(day: float, text: str, found: re.Match[str]) -> float:
    """Return the time that *text* names beside the *day* that was *found* in it; else *day*."""
    behind = text[found.end() :].lstrip("T:,- ")
    if ":" not in text:
        behind = _written_time.sub(_write_with_colon, behind)
    time = _compact_time.fullmatch(behind) or _time.search(behind) or _time.search(text)
    if not time:
        return day
    hour, minute, second = (int(time[at] or 0) for at in (1, 2, 3))
    is_afternoon = time[4] in "pP" if time[4] else _afternoon.search(text)
    if is_afternoon:
        hour = hour % 12 + 12
    elif hour == NOON and (time[4] or _morning.search(text)):
        hour = 0
    seconds = hour * 3600.0 + minute * 60 + min(second, 59)
    if seconds > DAY or minute >= 60:
        return day
    at = day + seconds
    if not time[5]:
        return at - _hours_of_zone(time, at, found) * HOUR
    with suppress(ValueError):
        at -= (_offset(time[5]).utcoffset(None) or timedelta()).total_seconds()
    return at


def _hours_of_zone(time: re.Match[str], at: float, day: re.Match[str]) -> float:
    """Return by how many hours the named zone of *time* is ahead of UTC; 0 if that is unknown.

    *at* is the local time as if it were UTC, and *day* the form of its day.
    """
    name, is_of_mail = time[6] or "", day.re.pattern == _day_of_mail
    place = PLACES.get(name, name) if time[4] or is_of_mail else name
    if "/" in place and (zone := _load_places().get(place.upper())):
        local = datetime.fromtimestamp(at, UTC).replace(tzinfo=zone)
        return (local.utcoffset() or timedelta()) / timedelta(hours=1)
    name = name.partition("/")[0].upper()
    return ZONES.get(name, ZONES_OF_MAIL.get(name, 0) if is_of_mail else 0)


@cache
def _load_places() -> dict[str, ZoneInfo]:
    """Return the time zones that this machine knows, by their names in upper case.

    All are loaded at once, because a child of the pool cannot open a file later.
    """
    return {name.upper(): ZoneInfo(name) for name in available_timezones() if "/" in name}


def _write_with_colon(time: re.Match[str]) -> str:
    return ":".join(part.zfill(2) for part in time.groups() if part)


def _to_epoch(match: re.Match[str]) -> float:
    year, month, day, hour, minute, second = (
        int(part or least) for part, least in zip(match.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    try:
        zone = _offset(match[7])
        at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
        return max(0.0, at.timestamp())
    except (ValueError, OverflowError):
        return 0.0


def _offset(offset: str | None) -> timezone:
    if not offset or offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "").replace("'", "")
    digits = (f"0{digits}" if len(digits) % 2 else digits).ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if offset[0] == "-" else ahead)


def parse_url_date(url: str, now: float) -> float:
    """Return the start of the day in a URL's path, such as `/2026/11/23/`; 0 if there is none."""
    path = urlsplit(url).path
    match = next(filter(None, (form.search(path) for form in _in_url)), None)
    at = _day_start(int(match[1]), match[2], int(match[3])) if match else 0.0
    return at if at <= now + MAX_CLOCK_SKEW else 0.0


def _parse_epoch(text: str) -> float:
    if not text.isdecimal() or len(text) not in (10, 13):
        return 0.0
    return int(text) / (1000 if len(text) == 13 else 1)


def _day_start(year: int, month: str, day: int) -> float:
    number = int(month) if month.isdecimal() else MONTHS.find(month[:3].lower()) // 3 + 1
    try:
        return datetime(year, number, day, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
