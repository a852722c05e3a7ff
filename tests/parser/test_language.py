"""Languages of texts, detected and declared."""

import pytest
from msgspec.structs import replace

from gossamer.events import CrawlDefined
from gossamer.services.parser.page import parse
from gossamer.services.parser.service import options_for
from gossamer.services.parser.text import detect_language
from tests.parser.pages import NOW, OPTIONS, page_response

SENTENCES = {
    "ar": "مش عارف ليه الناس دي بتعمل كده كل يوم، احنا عايزين نروح البيت بدري النهارده. ",
    "cs": "Všichni lidé se rodí svobodní a sobě rovní co do důstojnosti a práv. ",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. ",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια. ",  # noqa: RUF001
    "en": "PLEASE ENABLE SCRIPTS IN YOUR BROWSER TO READ THIS PAGE, AND THEN LOAD IT AGAIN. ",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos. ",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. ",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. ",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है। ",
    "ja": "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. ",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności. ",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. ",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. ",  # noqa: RUF001
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. ",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. ",  # noqa: RUF001
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. ",  # noqa: RUF001
    "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm. ",
    "zh": "该组织的宗旨是通过教育、科学及文化来促进各国之间的合作，对和平与安全作出贡献。",  # noqa: RUF001
}
"""Some are difficult: Egyptian Arabic, capitals, languages without spaces."""


@pytest.mark.parametrize("language", SENTENCES)
def test_detected_language_precedes_declared_language(language: str) -> None:
    assert detect_language(SENTENCES[language] * 5, "xx") == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Some words.",
        "0123456789 " * 20,
        "x" * 1000,
        "Das isch en Text uf Schwiizerdütsch, wo mir eifach so schriibed, wil mir wänd luege, öb "
        "das Modell das erkennt oder nöd, gäll.",
    ],
    ids=["none", "short", "digits", "one letter", "a language without two letters"],
)
def test_declared_language_is_used_if_detection_is_uncertain(text: str) -> None:
    assert detect_language(text, "de-CH") == "de"
    assert detect_language(text, "gsw") == "gsw"
    assert detect_language(text) == ""


SERBO_CROATIAN = (
    "Skupština grada je juče usvojila budžet za narednu godinu, a gradonačelnik je rekao da će "
    "novac biti potrošen na puteve i škole u svim opštinama."
)
BOKMÅL = (
    "Kommunestyret vedtok i går budsjettet for neste år, og ordføreren sa at pengene skal brukes "
    "på veier og skoler i alle deler av kommunen."
)


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        (SERBO_CROATIAN, "sr-Latn-RS", "sr"),
        (SERBO_CROATIAN, "bs", "bs"),
        (SERBO_CROATIAN, "hr", "hr"),
        (SERBO_CROATIAN, "en", "sh"),
        (SERBO_CROATIAN, "", "sh"),
        (BOKMÅL, "nb", "nb"),
        (BOKMÅL, "nn-NO", "nn"),
        (BOKMÅL, "no", "no"),
        (BOKMÅL, "sv", "no"),
    ],
)
def test_declared_language_wins_within_a_macrolanguage(
    text: str, declared: str, language: str
) -> None:
    """validator/validator#2020, #1874, the kind: languages that a detector cannot tell apart."""
    assert detect_language(text, declared) == language


def test_language_that_is_left_out_is_detected_for_a_crawl_that_needs_it() -> None:
    page = page_response(f"<html lang=de><p>{SENTENCES['pt'] * 5}".encode())
    options, found = replace(OPTIONS, without=("language",)), dict[str, str]()
    for relevant in ("", 'language("pt")'):
        crawl = CrawlDefined(crawl="a", at=0.0, scope="any()", max_depth=9, relevant=relevant)
        found[relevant] = parse(page, options_for(crawl, options), NOW).language
    assert found == {"": "de", 'language("pt")': "pt"}
