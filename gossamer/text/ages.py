"""The ages of posts in the labels of a page, such as "3 minutes ago", which change by themselves.

A list of posts has one in each row, and more rows than `volatile` has places. An age is a unit of
time beside a word that says "ago". Units and words are those of the Unicode CLDR, with the forms
of other writers. Many of these words mean something else without a unit: *sedan* is a car, *há*
counts anything. The ages of long texts stay, because they belong to the text.
"""

# ruff: noqa: RUF001 - these are other alphabets

import re
from collections.abc import Sequence
from itertools import filterfalse, groupby

from gossamer.text.blocks import MAX_BLOCKS, words_of

MAX_LABEL_LENGTH = 160
"""Most characters of a piece of text whose ages are masked."""
AGE = "ago"
"""Stands for an age, so that an age more is another text."""

_before = """
vor hace há ha před pred prije pre пре пред преди prieš pirms acum fa duela hai fyrir viru
virun tokea قبل منذ לפני πριν
"""
_after = """
ago geleden gelede sedan siden sidan síðan sitten temu nazaj назад тому таму eest tagasi
ezelőtt önce öncə առաջ წინ бұрын мурун oldin avval өмнө پیش قبل پہلے पहले पहिले अघि আগে
পূর্বে પહેલાં પહેલા ਪਹਿਲਾਂ ਪਿਛਲੇ trước lalu lepas nakalipas fa atrás முன் క్రితం ಹಿಂದೆ
മുമ്പ് മുൻപ് πριν əvvəl अगाडि
"""
_phrases_before, _phrases_after = (
    ("il y a", "πριν από"),
    ("më parë", "yn ôl", "ó shin", "yang lalu", "yang lepas", "ang nakalipas", "în urmă"),
)
_small_numbers = """
a an few one un una uno une uns unos unas um uma ein einer einem einen eine paar en ett et
een één eit bir alcuni få noen nokre kilka 'n un' vài một egy üks mõni birkaç несколько
декілька некалькі бір бирнеше რამდენიმე քանի хэдхэн یک چند ایک एक कुछ এক কয়েক ένα ένας μία
μια beberapa
"""
_units = """
seconds second secs sec minutes minute mins min hours hour hrs hr h days day d weeks week
wks wk months month mos years year yrs yr sekunde sekunden sek minuten stunde stunden std
tag tagen woche wochen monat monaten jahr jahren an ans année années heure heures jour jours
mois seconde secondes semaine semaines sem segundo segundos seg minuto minutos hora horas
día días dia dias semana semanas mes meses mês año años ano anos anni anno giorni giorno gg
mese mesi minuti ora ore secondi secondo settimana settimane any anys dies hores mesos minut
minuts segon segons setmana setmanes setm seconden sekonde sekondes minuut uur dag dagen dae
weken maand maanden maande jaar dagar dage dager döger døgn minuter minutter minutt sekunder
sekund tim timmar timme time timer uge uger uke uker veke veker vecka veckor måned måneder
månad månader månadar mån år degi dögum klst klukkustund klukkustundum mánuði mánuðum mínútu
mínútum sekúndu sekúndum viku vikum ári árum kuukausi kuukautta kk minuutti minuuttia päivä
päivää pv sekunti sekuntia tunti tuntia viikko viikkoa vuosi vuotta dni dnia dzień godz
godzin godziny godzinę miesiąc miesiąca miesiące miesięcy minuty minutę rok roku lata lat
sekundy sekundę tydz tydzień tyg tygodnia tygodnie tygodni dnem dny hodinami hodinou lety
minutami minutou měs měsícem měsíci rokem sekundami sekundou týd týdnem týdny dňami dňom
mesiacmi mesiacom minútami minútou rokmi rokom týždňami týždňom dnevi dnevom leti letom
mesecem meseci sekundo tedni tednom urami uro dan dana god godina godine godinu minuta
minutu mj mjesec mjeseca mjeseci meseca sat sata sati sekundi sekundu tjedan tjedana tjedna
sedmica sedmicu nedelja nedelje ned dieną dienas dienām dienų metus metų minučių mėn mėnesių
mėnesį sav savaitę savaičių sekundžių val valandą valandų valandas mėnesius letoma mesecema
urama dnevoma gada gadiem mēn mēneša mēnešiem minūtes minūtēm nedēļas nedēļām sekundes
sekundēm stundas stundām luni lună oră secunde secundă săpt săptămâni săptămână zi zile
aasta aastat kuu kuud minutit nädala nädalat päev päeva tund tunni tundi sekundit ure
minutas jorns Deeg Minutten Méint Stonnen Joer héttel hónappal nappal perccel másodperccel
évvel órával aste egun hilabete ordu urte ay dakika dk gün hafta saat saniye sn yıl dəqiqə
həftə il saniyə daqiqa kun oy soat soniya yil vite ditë javë minutë muaj orë sekondë sekonda
vit vjet awr diwrnod eiliad mis munud wythnos blynedd flynedd flynyddoedd eiliadau blwyddyn
míonna bliain bliana lá mhí mí nóiméad seachtain soicind uair giây giờ ngày năm phút tháng
tuần bulan bln detik hari jam menit mnt minggu minit tahun thn araw buwan linggo oras taon
год года годы лет день дня дней дн час часа часов мес месяц месяца месяцев мин минут минуту
минуты нед неделю недели недель сек секунд секунду секунды ч рік року роки років година
години годину годин дні днів місяць місяця місяці місяців міс хв хвилина хвилини хвилину
хвилин секунди тиж тиждень тижня тижні тижнів гады месяцы гадзіну гадзіны гадзін дзень дзён
хвіліну хвіліны хвілін месяцаў тыдзень тыдня тыдні тыдняў гадоў ден дана дена месец месеца
месеци минута минути недеља недеље сата сати седмица седмици секунда секунде године ай апта
жыл күн сағ сағат минутын секундын цагийн өдрийн сарын жилийн мүнөт саат έτη έτος χρόνια
δευτερόλεπτα δευτερόλεπτο εβδομάδα εβδομάδες ημέρα ημέρες μέρα μέρες λεπτά λεπτό μήνα μήνες
ώρα ώρες ամիս ժամ շաբաթ վայրկյան տարի րոպե օր დღის თვის კვირის საათის წამის წლის წუთის
أسابيع أسبوع أسبوعا أشهر أعوام أيام ثانية ثوان ثواني ثوانٍ دقائق دقيقة ساعات ساعة سنة سنوات
شهر شهرا شهور عام عاما يوم يوما يومين ساعتين دقيقتين شهرين أسبوعين דקה דקות חודש חודשים יום
ימים שבוע שבועות שניות שנה שנים שעה שעות יומיים שעתיים חודשיים שנתיים שבועיים ثانیه دقیقه
روز ساعت سال ماه هفته دن دنوں سیکنڈ ماہ منٹ مہینہ مہینے گھنٹہ گھنٹے ہفتہ ہفتے घंटे घंटा
घण्टा दिन महिना महीने महीना माह मिनट मिनेट वर्ष साल सप्ताह हफ़्ते सेकंड सेकेण्ड सेकेन्ड
हप्ता ঘন্টা ঘণ্টা দিন মাস মিনিট সপ্তাহ সেকেন্ড বছর ਘੰਟਾ ਘੰਟੇ ਦਿਨ ਮਹੀਨਾ ਮਹੀਨੇ ਮਿੰਟ ਸਕਿੰਟ ਸਾਲ
ਹਫ਼ਤਾ ਹਫ਼ਤੇ અઠવાડિયા કલાક દિવસ મહિના મિનિટ વર્ષ સેકંડ ஆண்டுகளுக்கு நாட்களுக்கு நாளுக்கு
நிமிடங்களுக்கு நிமிடத்திற்கு மணிநேரம் மாதங்களுக்கு வாரங்களுக்கு விநாடிகளுக்கு గంట గంటల
నిమిషం నిమిషాల నెల నెలల రోజు రోజుల వారం వారాల సంవత్సరం సంవత్సరాల సెకన్ల ಗಂಟೆ ಗಂಟೆಗಳ ತಿಂಗಳ
ದಿನಗಳ ದಿನದ ನಿಮಿಷಗಳ ವರ್ಷಗಳ ವಾರಗಳ ಸೆಕೆಂಡುಗಳ ആഴ്ച ദിവസം മണിക്കൂർ മാസം മിനിറ്റ് വർഷം സെക്കൻഡ്
"""
_dense_units = """
秒钟 秒鐘 秒 分钟 分鐘 分 小时 小時 時間 日 天 週間 周 週 か月 ヶ月 カ月 个月 個月 年
초 분 시간 일 주 개월 달 년
"""
"""Units that follow their number without a space, before 前 or 전."""


def _any_of(words: str, *phrases: str) -> str:
    """Return an expression that matches any of *words* and *phrases*, the longest first.

    They are grouped by their first letters, because alternatives are tried one by one.
    """
    groups = groupby(sorted({*words.split(), *phrases}), key=lambda word: word[0])
    return "|".join(
        f"{first}(?:{'|'.join(sorted((word[1:] for word in group), key=len, reverse=True))})"
        for first, group in groups
    )


# Quantifiers are possessive, so that the time is linear in the length of a label.
_unit = rf"(?:{_any_of(_units)})"
_number = rf"(?:\d[\d.,]*+\+?|(?:{_any_of(_small_numbers)})(?:(?<=')|(?!\w)))"
_ago = rf"(?:{_any_of(_after, *_phrases_after)})(?!\w)"
_age = re.compile(
    # "vor 3 Minuten", "vor ein paar Sekunden", "acum 20 de minute".
    rf"(?<!\w)(?:{_any_of(_before, *_phrases_before)}) (?:[^\s.,]++ ){{0,3}}?{_unit}(?!\w)"
    # "3 minutes ago", "1 hour, 3 minutes ago", "5h ago", "2 yr. ago".
    rf"|(?<![\w.,])(?:(?:{_number} ?){{1,2}}+{_unit}(?:[,.]| and)? ){{1,2}}+{_ago}"
    # "godzinę temu".
    rf"|(?<!\w){_unit} {_ago}"
    # "3分前", "3분 전".
    rf"|(?<!\d)(?:\d++|[数几數幾한몇일]) ?(?:{_any_of(_dense_units)}) ?[前전]"
    # "5 นาทีที่แล้ว", "२ मिनिटांपूर्वी", "10 órája".
    r"|(?<!\d)\d++ [^\s\d]{1,12}(?:ที่แล้ว|ที่ผ่านมา|ผ่านมา|ກ່ອນ|ຜ່ານມາ|មុន|पूर्वी)"
    r"|(?<!\d)\d++ (?:perce|órája|napja|hete|hónapja|éve)(?!\w)",
    re.IGNORECASE,
)
_hint_words = frozenset(
    f"{_before} {_after} il parë ôl shin urmă perce órája napja hete hónapja éve".split()
)
"""Words of which each age in a language with spaces has one."""
_marks = "".join({character for character in "".join(_hint_words) if not character.isalnum()})
_words = re.compile(rf"[\w{_marks}]+")
"""Words, with the marks of the scripts in which vowels are marks."""
_dense_hints = words_of("前 전 แล้ว มา ກ່ອນ ມາ មុន पूर्वी")
"""Parts of ages in languages without spaces, or with endings."""
_hint = re.compile(rf"(?<!\w)(?:{_any_of('', *_hint_words)})(?!\w)|{'|'.join(_dense_hints)}")


def mask_ages(pieces: Sequence[str]) -> list[str]:
    """Return *pieces* of text with the same word in place of each age in a label.

    Too many pieces are returned as they are.
    """
    kept = list(pieces)
    if len(kept) > MAX_BLOCKS:
        return kept
    sized = zip(kept, map(len, kept), strict=True)
    text = "\n".join([piece if size <= MAX_LABEL_LENGTH else "" for piece, size in sized]).lower()
    words = set(text.split())
    punctuated = " ".join(filterfalse(str.isalnum, words))
    hints = _hint_words.intersection(words.union(_words.findall(punctuated)))
    hints |= {one for one in _dense_hints if one in text}
    # Looking for a hint takes a hundredth of the time of looking for an age.
    labels = text.split("\n")
    for at in {at for hint in hints for at, label in enumerate(labels) if hint in label}:
        # "il" is also in "until".
        if _hint.search(labels[at]):
            kept[at] = _age.sub(AGE, kept[at])
    return kept
