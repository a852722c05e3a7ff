"""The names of the months in languages of Europe and Asia, for dates that are written for people.

A name that means different months in different languages is left out: *listopad* is October in
Croatian and November in Polish. English and the names that begin as in English are not repeated.
"""

# ruff: noqa: RUF001 - these are other alphabets

import unicodedata

_NAMES = {
    1: """januar januari január januára janúar jänner jaenner janvier enero ene gennaio gen janeiro
        ianuarie styczeń stycznia leden ledna ledn января январь січня яну януари јануар ocak
        tammikuu tammikuuta jaanuar janvāris sausio urtarrila gener
        ιανουαρίου ιανουάριος ιαν
        يناير جانفي ינואר जनवरी জানুয়ারি มกราคม ม.ค""",
    2: """février fév févr fevr febrero febbraio fevereiro fev februarie luty lutego února únor
        февраля февраль лютого февруари фебруар şubat helmikuu helmikuuta veebruar
        vasario febrer febrúar februára
        φεβρουαρίου φεβρουάριος φεβ
        فبراير فيفري شباط פברואר फरवरी फ़रवरी ফেব্রুয়ারি กุมภาพันธ์ ก.พ pebrero""",
    3: """märz maerz mrz mär mars març maart março marzec marca březen března марта март березня
        mart martie maaliskuu maaliskuuta märts kovo március márc
        μαρτίου μάρτιος μαρ μάρ
        maret mac marso مارس آذار מרץ मार्च মার্চ มีนาคม มี.ค""",
    4: """avril avr abril abr aprile april apríl kwiecień kwietnia duben dubna апреля апрель квітня
        април nisan huhtikuu huhtikuuta aprill balandžio április ápr
        απριλίου απρίλιος απρ
        أبريل ابريل إبريل أفريل نيسان אפריל अप्रैल এপ্রিল เมษายน เม.ย""",
    5: """mai maj mei maio mayo maggio mag maja květen května мая май травня mayıs
        toukokuu toukokuuta gegužės május máj maí maig
        μαΐου μάιος μαΐ μάι
        مايو ماي أيار מאי मई মে พฤษภาคม พ.ค""",
    6: """juni juin junho junio giugno giu iunie czerwiec czerwca červen června июня июнь червня
        юни јун haziran kesäkuu kesäkuuta juuni birželio június jún júní juny
        ιουνίου ιούνιος ιουν ιούν
        hunyo يونيو يونيه جوان حزيران יוני जून জুন มิถุนายน มิ.ย""",
    7: """juli juillet juil julho julio luglio lug iulie lipiec lipca červenec července июля июль
        липня юли јул temmuz heinäkuu heinäkuuta juuli liepos július júl júlí juliol
        ιουλίου ιούλιος ιουλ ιούλ
        julai hulyo يوليو يوليه جويلية تموز יולי जुलाई জুলাই กรกฎาคม ก.ค""",
    8: """août aout agosto ago sierpień sierpnia srpen srpna августа август серпня ağustos
        elokuu elokuuta augustus rugpjūčio augusztus ágúst agost
        αυγούστου αύγουστος αυγ αύγ
        agustus ogos أغسطس اغسطس أوت آب אוגוסט अगस्त আগস্ট สิงหาคม ส.ค""",
    9: """settembre septembre septiembre setiembre setembro set wrzesień września září сентября
        сентябрь вересня септември септембар eylül syyskuu syyskuuta rugsėjo
        szeptember szept setembre
        σεπτεμβρίου σεπτέμβριος σεπτ σεπ
        setyembre سبتمبر أيلول ספטמבר सितंबर सितम्बर সেপ্টেম্বর กันยายน ก.ย""",
    10: """oktober okt ottobre ott outubro out październik października říjen října октября октябрь
        жовтня октомври октобар ekim lokakuu lokakuuta oktoober spalio október
        οκτωβρίου οκτώβριος οκτ
        oktubre أكتوبر اكتوبر אוקטובר अक्टूबर अक्तूबर অক্টোবর ตุลาคม ต.ค""",
    11: """noviembre ноября ноябрь ноември новембар kasım marraskuu marraskuuta
        lapkričio nóvember november
        νοεμβρίου νοέμβριος νοε νοέ
        nobyembre نوفمبر נובמבר नवंबर नवम्बर নভেম্বর พฤศจิกายน พ.ย""",
    12: """dezember dez décembre déc diciembre dicembre dic dezembro grudzień grudnia prosinec
        prosince декабря декабрь грудня декември децембар aralık joulukuu joulukuuta
        detsember gruodžio desember des desembre
        δεκεμβρίου δεκέμβριος δεκ
        disember disyembre ديسمبر דצמבר दिसंबर दिसम्बर ডিসেম্বর ธันวาคม ธ.ค""",
}
NUMBERS = {
    unicodedata.normalize("NFKC", name): number
    for number, names in _NAMES.items()
    for name in names.split()
}
"""Month by its name in lower case, normalized (NFKC)."""
