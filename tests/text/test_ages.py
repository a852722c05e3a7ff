"""An age in a label that grows is not a change. Any other difference of a label is a change."""

# ruff: noqa: RUF001 - these are other alphabets

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.text import compare_fields
from gossamer.text import ages as table
from gossamer.text.ages import AGE, MAX_LABEL_LENGTH, mask_ages
from gossamer.text.blocks import unpack_blocks, words_of
from gossamer.text.sketch import estimate_change
from gossamer.text.volatile import compare


def mask(label: str) -> str:
    return mask_ages([label])[0]


@pytest.mark.parametrize(
    "ages",
    [
        # moment 2.29.4, `duration.humanize(true)`: the labels of other people's sites.
        "a few seconds ago|a minute ago|3 minutes ago|an hour ago|a day ago|25 days ago",
        "vor ein paar Sekunden|vor einer Minute|vor 3 Minuten|vor einem Tag|vor 10 Jahren",
        "il y a quelques secondes|il y a une heure|il y a 3 heures|il y a un mois|il y a 2 ans",
        "hace unos segundos|hace una hora|hace 3 horas|hace un día|hace 25 días|hace un año",
        "há poucos segundos|há uma hora|há 5 minutos|há um mês|há 2 anos",
        "alcuni secondi fa|un'ora fa|un giorno fa|3 ore fa|2 anni fa",
        "een paar seconden geleden|één minuut geleden|3 uur geleden|2 jaar geleden",
        "få sekunder siden|en time siden|5 minutter siden|10 år siden",
        "kilka sekund temu|godzinę temu|5 minut temu|2 godziny temu|3 tygodnie temu|2 lata temu",
        "před pár sekundami|před hodinou|před 3 hodinami|před 2 lety",
        "несколько секунд назад|час назад|5 минут назад|2 дня назад|10 лет назад",
        "декілька секунд тому|годину тому|5 хвилин тому|2 роки тому",
        "birkaç saniye önce|bir saat önce|3 saat önce|2 yıl önce",
        "数秒前|1分前|3分前|10時間前|25日前|2ヶ月前|10年前",
        "几秒前|1 分钟前|3 小时前|25 天前|2 个月前|10 年前",
        "몇 초 전|한 시간 전|3분 전|25일 전|2달 전",
        "منذ دقيقتين|منذ ٥ دقائق|منذ 3 ساعات|منذ 10 أعوام",
        "לפני מספר שניות|לפני דקה|לפני 5 דקות|לפני שעתיים",
        # Django 3.2, `timesince`; Stack Exchange; Reddit.
        "1 hour, 5 minutes ago|2 weeks, 3 days ago|43 secs ago|1 min ago|5h ago|2 yr. ago",
    ],
)
def test_all_ages_of_a_language_are_the_same_text(ages: str) -> None:
    assert {mask(age) for age in ages.split("|")} == {AGE}


fillers = st.sampled_from(words_of("the Reply · | (3) , -by post• 🕐 “Uhr” ago. 前 há"))
parts = st.sampled_from(
    f"{table._before} {table._after} {table._small_numbers} {table._units} il y a yn ôl 3 ५ 12 "
    "数 1,5 2+ 5分前 นาทีที่แล้ว मिनिटांपूर्वी órája perce".split()
)
labels = st.lists(parts | fillers, min_size=1, max_size=6).flatmap(
    lambda words: st.sampled_from((" ", " ", "")).map(lambda between: between.join(words))
)


@given(st.lists(labels | labels.map(str.title), max_size=6))
def test_no_age_in_a_label_is_missed(pieces: list[str]) -> None:
    short = (len(piece) <= MAX_LABEL_LENGTH for piece in pieces)
    assert mask_ages(pieces) == [
        table._age.sub(AGE, piece) if is_label else piece
        for piece, is_label in zip(pieces, short, strict=True)
    ]


def test_words_beside_an_age_stay() -> None:
    assert mask("posted 19 years ago by Kim") == "posted ago by Kim"
    assert mask("Java | 3 min ago | 0.02 KB") == "Java | ago | 0.02 KB"
    assert mask("16 minutes ago, Eyesa Horg said:") == "ago, Eyesa Horg said:"


@pytest.mark.parametrize(
    "label",
    [
        "2019 Honda sedan",
        "il y a 3 commentaires",
        "há 3 vagas",
        "3人前",
        "駅前 5分",
        "hace 3 goles",
        "1,204 views",
        "12 comments",
        "In stock: 3",
        "€ 3",
        "in 3 days",
        "30 days",
        "3 Tage",
        "12 May 2024 at 14:03",
    ],
)
def test_other_numbers_are_no_ages(label: str) -> None:
    assert mask(label) == label


def test_ages_of_a_long_text_stay() -> None:
    text = "The bridge fell 3 years ago. " * 9
    assert len(text) > MAX_LABEL_LENGTH and mask(text) == text


def questions(ages: Sequence[str], titles: Sequence[str], votes: Sequence[str]) -> list[str]:
    """The list of questions at stackoverflow.com: each row has votes, a title and an age."""
    rows = zip(votes, titles, ages, strict=True)
    return ["Questions", *(piece for row in rows for piece in (row[0], "votes", row[1], row[2]))]


TITLES = [f"How do I cross bridge {number} with a cart?" for number in range(30)]
VOTES = ["0"] * 30
AGES = [f"asked {number} secs ago" for number in range(30)]
units = st.sampled_from(("secs", "min", "hours", "days", "years"))
ages = st.lists(
    st.builds("asked {} {} ago".format, st.integers(1, 59), units), min_size=30, max_size=30
)


def change(before: Sequence[str], after: Sequence[str]) -> float:
    """Return the change that dedup finds between two visits."""
    one, other = compare_fields(before), compare_fields(after)
    state = compare(b"", unpack_blocks(one["blocks"])).state
    if compare(state, unpack_blocks(other["blocks"])).same:
        return 0.0
    return estimate_change(one["sketch"], other["sketch"])


@given(ages)
def test_list_whose_ages_have_grown_is_unchanged_and_has_another_digest(later: list[str]) -> None:
    before, after = questions(AGES, TITLES, VOTES), questions(later, TITLES, VOTES)
    assert change(before, after) == 0.0
    digests = {compare_fields(pieces)["digest"] for pieces in (before, after)}
    assert len(digests) == (1 if later == AGES else 2), "the text of each visit is published"


@given(ages, st.integers(0, 29), st.sampled_from(["post", "votes", "title", "order", "removed"]))
def test_true_change_has_its_full_weight_beside_ages(later: list[str], at: int, what: str) -> None:
    titles, votes = [*TITLES], [*VOTES]
    if what == "post":
        titles, votes = ["May carts stop on a bridge?", *titles[:-1]], ["7", *votes[:-1]]
    elif what == "votes":
        votes[at] = "1"
    elif what == "title":
        titles[at] = "Who pays the toll?"
    elif what == "order":
        titles.insert(0, titles.pop(at or 1))
    kept = slice(0, -1 if what == "removed" else None)
    with_ages = questions(later[kept], titles[kept], votes[kept])
    same_ages = questions(AGES[kept], titles[kept], votes[kept])
    before = questions(AGES, TITLES, VOTES)
    assert change(before, with_ages) == change(before, same_ages) > 0
