"""Dates in sitemaps, feeds, pages and PDFs."""

# ruff: noqa: RUF001 - these are other alphabets

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.dates import parse_date, parse_web_date

LEAP = datetime(2024, 2, 29, tzinfo=UTC).timestamp()
HOUR = 3600.0


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2024-02-29", 0),
        (" 2024-02-29T10:00Z\n", 10),
        ("2024-02-29T10:00:00.123+02:00", 8),
        ("2024-02-29 10:00:00 -0200", 12),
        ("2024-02-29T10:00:00", 10),
        ("2024-02-29T10:00+02", 8),
        ("Thu, 29 Feb 2024 10:00:00 GMT", 10),
        ("29 Feb 24 10:00 +0100", 9),
        ("Thu, 29 Feb 2024 10:00:00", 10),
        # PDF
        ("D:20240229", 0),
        ("D:20240229100000Z", 10),
        ("D:20240229100000+02'00'", 8),
        ("D:20240229100000-02'30", 12.5),
        ("20240229100000", 10),
        ("D:20240229100000Z00'00'", 10),
    ],
)
def test_date_is_parsed(text: str, hours: float) -> None:
    assert parse_date(text) == LEAP + hours * HOUR


def test_missing_parts_of_date_are_the_earliest() -> None:
    assert parse_date("2024-03") == LEAP + 24 * HOUR
    assert parse_date("2024") == datetime(2024, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "2024-02-30", "0000-00-00", "1959-01-01", "9" * 99,
        # Ambiguous, or no date
        "03/04/2024", "3-4-2024", "8 May 10:00", "1.2.3", "version 20.24", "12", "99:99", "May",
        "2024 May 10:00",
        # Words that begin as a month, and unclear names of months
        "20 Marina 2024", "Decisions 12 2024", "2024 Augsburg 20", "12. listopada 2021",
        "3 xyz 2021", "5 มีนาคม 4564", "大正3年5月6日", "2021年5月",
    ],
)  # fmt: skip
def test_invalid_or_ambiguous_date_is_zero(text: str) -> None:
    assert parse_date(text) == 0.0


@given(st.text() | st.from_regex(r"D?:?\d{4}-?\d\d-?\d\d[T ]?\d\d:?\d\d:?\d\d[+-]\d\d:?\d\d"))
def test_any_text_is_accepted_as_date(text: str) -> None:
    assert parse_date(text) >= 0.0


AT = datetime(2024, 5, 8, 8, 53, 11, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2024-05-08 08:53:11 AM", 0),
        ("2024-05-08 08:53:11 PM", 12),
        ("2024-05-08 08:53:11 p.m.", 12),
        ("2024-5-8 8:53:11", 0),
        ("2024/05/08 08:53:11", 0),
        ("2024.05.08 08:53:11", 0),
        ("2024-05-08T08:53:11.9800168Z", 0),
        ("2024-05-08T08:53:11.980016+02:00", -2),
        ("2024-05-08 08:53:11 UTC", 0),
        ("2024-05-08 08:53:11 +0200 CEST", -2),
        ("2024-05-08T08:53:11 GMT", 0),
        ("20240508T085311Z", 0),
        ("20240508085311", 0),
        ("2024-05-08T08:53:11Z 2023-06-15T15:33:55Z", 0),
        ("Wed, 08 May 2024 08:53:11 GMT", 0),
        ("WED,08 MAY 2024 08:53:11", 0),
        ("Wed, 08 May 2024 08:53:11 +02:00", -2),
        ("Wed, 8 May 2024 8:53:11 Z", 0),
        ("Wed, 08 May 24 08:53:11 EST", 5),
        ("Wed, May 8 2024 08:53:11 MST", 7),
        ("Wed, May 08 2024 08:53:11 +0000", 0),
        ("Wednesday, 08-May-24 08:53:11 GMT", 0),
        ("Wed May  8 08:53:11 2024", 0),
        ("Wed May 08 08:53:11 UTC 2024", 0),
        ("Wed May 08 08:53:11 CEST 2024", -2),
        ("Wed May 08 2024 08:53:11 GMT+0200 (Central European Summer Time)", -2),
        ("May 8, 2024, 8:53:11 AM", 0),
        ("Wed, May 08,2024 08:53:11", 0),
        ("2024 May 08 08:53:11", 0),
        ("2024-May-08 08:53:11", 0),
        ("8 May 2024, 08:53:11", 0),
        ("8th May 2024 08:53:11", 0),
        ("08/May/2024:08:53:11 +0200", -2),
        ("08.05.2024 08:53:11", 0),
        ("13/05/2024 08:53:11", 120),
        ("05/13/2024 08:53:11", 120),
        ("05/05/2024 08:53:11", -72),
        ("1715158391", 0),
        ("1715158391000", 0),
        ("\n  2024-05-08T08:53:11Z\n ", 0),
    ],
)
def test_common_form_of_time_is_parsed(text: str, hours: float) -> None:
    """ultimate-sitemap-parser#86, elfeed#345, rome#166, #378, NetNewsWire#2109, superdesk#3269."""
    assert parse_date(text) == AT + hours * HOUR


INSTANTS = {
    datetime(2024, 5, 8, tzinfo=UTC): [
        "2024-5-8",
        "2024/05/08",
        "20240508",
        "8 May 2024",
        "May 8, 2024",
        "8. May 2024",
        "08.05.2024",
        "2024-05-08 31:99:00",
        "2024-05-08T10:61:55Z",
        "2024-05-08T",
        "2024-05-08+02:00"[:10],
    ],
    # datejs/Datejs#97, abritinthebay/datejs#74, scrapinghub/dateparser#395, the kind.
    datetime(2021, 5, 6, tzinfo=UTC): [
        "6. Mai 2021",
        "Donnerstag, 6. Mai 2021",
        "6 mai 2021",
        "6 de mayo de 2021",
        "6 maggio 2021",
        "6 de maio de 2021",
        "6 mei 2021",
        "6 maja 2021",
        "6. května 2021",
        "6 мая 2021 г.",
        "6 травня 2021",
        "6 Mayıs 2021",
        "2021. május 6.",
        "2021年5月6日",
        "2021年 5月 6日（木）",
        "２０２１年５月６日",
        "2021년 5월 6일",
        "6/5/2021 oder 6. Mai 2021"[12:],
        "6-mai-2021",
        "mayo 6, 2021",
        "6 مايو 2021",
        "٦ مايو، ٢٠٢١",
        "6 במאי 2021",
        "6 मई 2021",
        "6 মে ২০২১",
        "6 Mei 2021",
        "ngày 06 tháng 05 năm 2021",
        "2021. 5. 6.",
        "6 พฤษภาคม 2564",
        "6 พ.ค. 2564",
        "วันที่ 6 พฤษภาคม พ.ศ. 2564",
        "令和3年5月6日",
        "D:20210506",
    ],
    # Ranchero-Software/NetNewsWire#1012.
    datetime(2019, 9, 11, 17, 22, 30, tzinfo=UTC): [
        "Wed, 11 Sep 2019 22:52:30+5:30", "Wed, 11 Sep 2019 22:52:30 +5:30",
        "2019-09-11T22:52:30+5:30", "2019-09-11 22:52:30 +530", "11 Sep 2019 22:52:30 GMT+5:30",
        "11 Sep 2019 22:52:30 +0530", "2019-09-11T12:52:30-4:30",
        "2019-09-11T12:52:30\u221204:30", "2019年9月11日 午後5:22:30",
        "2019년 9월 11일 오후 5:22:30",
    ],
    datetime(2021, 5, 6, 17, 8, tzinfo=UTC): [
        "jeudi 6 mai 2021 à 17h08", "6 de maio de 2021, 17h08", "6 maj 2021 kl. 17.08",
        "6.5.2021 klo 17.08", "2021年5月6日(木) 17時08分", "2021年5月6日 17:08",
        "2021. 5. 6. 오후 5:08", "2021년 5월 6일 17시 8분", "7 Mei 2021 00:08 WIB",
        "7 May 2021 00:08 GMT+7",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "when"), [(text, when) for when, texts in INSTANTS.items() for text in texts]
)
def test_any_form_of_a_time_is_parsed(text: str, when: datetime) -> None:
    assert parse_date(text) == when.timestamp()


@pytest.mark.parametrize(
    ("text", "month", "day"),
    [
        ("15 août 2022", 8, 15),
        ("15 aou\u0302t 2022", 8, 15),
        ("1er mars 2022", 3, 1),
        ("3. März 2022", 3, 3),
        ("mar. 01 août 2022", 8, 1),
        ("sam. 02 avril 2022", 4, 2),
        ("5 MRZ 2022", 3, 5),
        ("12 sept 2022", 9, 12),
        ("3 juin 2022", 6, 3),
        ("3 juillet 2022", 7, 3),
        ("31. Dezember 2022", 12, 31),
        ("12 października 2022", 10, 12),
        ("1º de abril de 2022", 4, 1),
        ("1 d’abril de 2022", 4, 1),
        ("9. června 2022", 6, 9),
        ("9. července 2022", 7, 9),
        ("31/12/2022", 12, 31),
        ("2 Agustus 2022", 8, 2),
        ("11 Ιούλ 2022", 7, 11),
        ("11 Ιουν 2022", 6, 11),
        ("1 ΑΎΓΟΥΣΤΟΣ 2022", 8, 1),
        ("2 Desember 2022", 12, 2),
        ("2 जून 2022", 6, 2),
        ("2 กรกฎาคม 2565", 7, 2),
    ],
)
def test_months_are_told_apart(text: str, month: int, day: int) -> None:
    """datejs/Datejs#97, date-fns/date-fns#1430, scrapinghub/dateparser#395, #819."""
    assert parse_date(text) == datetime(2022, month, day, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "month"),
    [
        # datefinder#198, rails#27361, chrono#162, dateutil#1090: names that begin as in English.
        ("20 de octubre de 2024", 10),
        ("20 de novembro de 2024", 11),
        ("20 de nov. de 2024", 11),
        ("20 d’octubre de 2024", 10),
        ("20. marraskuuta 2024", 11),
        ("20 novembre 2024", 11),
        ("octubre 20, 2024", 10),
        ("20 décembre 2024", 12),
        # dateparser#147, #106: abbreviations.
        ("20 янв. 2024", 1),
        ("20 дек 2024 г.", 12),
        ("20 серп. 2024", 8),
        ("20 kwi 2024", 4),
        ("20 Ağu 2024", 8),
        ("20 Şub 2024", 2),
        ("20 mrt. 2024", 3),
        ("20 Agu 2024", 8),
        # Capitals of Turkish, whose dotless i has the capital of another letter.
        ("20 MAYIS 2024", 5),
        ("KASIM 20, 2024", 11),
        ("20 Aralik 2024", 12),
        ("20. siječnja 2024.", 1),
        ("2024. február 20.", 2),
        ("20. nóv. 2024", 11),
        ("20 noiembrie 2024", 11),
        ("20 јануара 2024.", 1),
        ("20 студзеня 2024", 1),
        ("20 ജനുവരി 2024", 1),
        ("20 ஜனவரி, 2024", 1),
        ("20 જાન્યુઆરી 2024", 1),
        ("20 جنوری 2024", 1),
        ("20 كانون الثاني 2024", 1),
        ("20 ژانویه 2024", 1),
        ("20 იანვარი 2024", 1),
        # Other forms.
        ("2024 m. sausio 20 d.", 1),
        ("2024. gada 20. janvāris", 1),
        ("20 มกราคม ค.ศ. 2024", 1),
        ("20 thg 1, 2024", 1),
        ("20\u200f/10\u200f/2024", 10),
        ("20th of May 2024", 5),
        ("Montag, Mai 20th, 2024", 5),
    ],
)
def test_months_have_the_names_of_their_languages(text: str, month: int) -> None:
    assert parse_date(text) == datetime(2024, month, 20, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("6 مايو 2021، 5:08 م", 17),
        ("6 مايو 2021م، 5:08", 5),
        ("6 مايو 2021، 12:08 ص", 0),
        ("6 مايو 2021، 5:08 مساءً", 17),
        ("6 Μαΐου 2021, 5:08 μ.μ.", 17),
        ("6 Μαΐου 2021, 12:08 π.μ.", 0),
        ("6 Mei 2021, 5:08 PTG", 17),
        ("6 maj 2021, 5:08 m.d.", 17),
        ("6 de mayo de 2021, 5:08 p. m.", 17),
        ("6 de mayo de 2021, 12:08 a. m.", 0),
        ("2021年5月6日 晚上8:08", 20),
        ("2021年5月6日 上午12:08", 0),
        ("2021年5月6日 17時08分09秒", 17),
        ("2021년 5월 6일 17시 8분 9초", 17),
        ("6. maj 2021 17.08.09", 17),
        ("6.5.2021 17.08", 17),
        ("6 May 2021 17:08 AM", 17),
    ],
)
def test_half_of_the_day_is_read_in_any_language(text: str, hour: int) -> None:
    """As the CLDR formats times; Java and browsers have its names."""
    assert parse_date(text) == datetime(2021, 5, 6, hour, 8, tzinfo=UTC).timestamp()


MAY = datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2024-05-01 10:00 Europe/Berlin", -2),
        ("2024-05-01T10:00:00 europe/berlin", -2),
        ("2024-05-01T10:00:00[Europe/Berlin]", -2),
        ("2024-05-01T10:00:00+01:00[Europe/Berlin]", -1),
        ("Wed, 01 May 2024 10:00:00 America/New_York", 4),
        ("1. Mai 2024 10:00 Uhr", 0),
        ("May 1, 2024 10:00 AM (America/Argentina/Buenos_Aires)", 3),
        ("2024-05-01 10:00 Asia/Kathmandu", -5.75),
        ("2024-05-01 10:00 Etc/GMT-5", -5),
        ("May 1, 2024 10:00 AM EST", 5),
        ("May 1, 2024 10:00 AM (EDT)", 4),
        ("May 1, 2024, 10:00 a.m. ET", 4),
        ("May 1, 2024 10:00 AM HST", 10),
        ("May 1, 2024 10:00 AM EST/EDT", 5),
        ("Wed, 01 May 2024 10:00:00 CST", 6),
        ("Wed, 1 May 2024 10:00:00 PT", 7),
        ("Wed, 01 May 2024 10:00:00 MEST", -2),
        ("1 may 2024 10:00 et 12:00", 0),
    ],
)
def test_zone_of_a_time_is_read(text: str, hours: float) -> None:
    assert parse_date(text) == MAY + hours * HOUR


def test_zone_of_a_place_is_that_of_the_season() -> None:
    assert parse_date("2024-12-01 10:00 Europe/Berlin") == parse_date("2024-12-01T10:00+01:00")
    assert parse_date("Dec 1, 2024 10:00 AM ET") == parse_date("2024-12-01T10:00-05:00")


@pytest.mark.parametrize(
    "zone",
    [
        "IST",
        "AST",
        "et 12:00",
        "Europe/Atlantis",
        "../../etc/passwd",
        "posix/Europe/Berlin",
        "and/or",
    ],
)
def test_unclear_zone_is_not_guessed(zone: str) -> None:
    assert parse_date(f"2024-05-01 10:00 {zone}") == MAY


def test_cst_is_read_only_where_a_standard_defines_it() -> None:
    """RFC 822, 5.1. Java in China writes the other form."""
    assert parse_date("Wed May 01 10:00:00 CST 2024") == MAY
    assert parse_date("2024-05-01 10:00 CST") == MAY


@pytest.mark.parametrize(
    "text", ["D:20990101", "2099-01-01T00:00:00Z", "D:19800101", "1. Mai 1990"]
)
def test_implausible_date_is_not_published(text: str) -> None:
    assert parse_date(text) > 0.0 == parse_web_date(text, datetime(2026, 1, 1).timestamp())
