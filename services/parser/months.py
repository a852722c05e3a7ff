"""The names of the months in other languages than English, for dates that are written for people.

The names and their abbreviations are those of the Unicode CLDR, in 90 languages, with the forms of
other writers. A name that means different months in different languages is left out: *listopad* is
October in Croatian and November in Polish. So are a few that are words of English (*led*, *pro*).
An underscore is a space.
"""

# ruff: noqa: RUF001 - these are other alphabets

import unicodedata

_NAMES = {
    1: """januar januari január januára janúar jänner jaenner janvier enero ene gennaio gen janeiro
        januara januarja janvārī јануара
        ianuarie styczeń stycznia leden ledna ledn января январь січня яну януари јануар ocak
        tammikuu tammikuuta jaanuar janvāris sausio urtarrila gener
        ιανουαρίου ιανουάριος ιαν
        يناير جانفي ינואר जनवरी জানুয়ারি มกราคม ม.ค
        jan januarie yan yanvar ion ionawr jaan urt tammi janv jannewaris ean xan xaneiro
        sij saus sausis jannar sty schaner schan ian janaayo jannaayo janar oca ጃን ጃንዋሪ
        كانون_الثاني জানু জানুৱাৰী сту студзень студзеня jän ژانویه eanáir જાન્યુ જાન્યુઆરી
        ינו׳ जन॰ siječanj siječnja հնվ հունվար հունվարի იან იანვარი қаңтар қаң មករា ಜನ ಜನವರಿ
        янв ມ.ກ ມັງກອນ јан јануари ജനു ജനുവരി जाने जानेवारी ဇန် ဇန်နဝါရီ ଜାନୁଆରୀ ਜਨ ਜਨਵਰੀ
        جنوري දුරුතු ஜன ஜனவரி జన జనవరి январ ýan ýanwar гыйн гыйнвар січ січень جنوری кӑр
        кӑрлач""",
    2: """février fév févr fevr febrero febbraio fevereiro fev februarie luty lutego února únor
        februara februarja februārī фебруара
        февраля февраль лютого февруари фебруар şubat helmikuu helmikuuta veebruar
        vasario febrer febrúar februára
        φεβρουαρίου φεβρουάριος φεβ
        فبراير فيفري شباط פברואר फरवरी फ़रवरी ফেব্রুয়ারি กุมภาพันธ์ ก.พ pebrero
        feb fevral februar febr chw chwef chwefror veebr ots otsaila helmi peb febrewaris feabh
        feabhra febreiro velj februari vas vasaris fra frar lut favrer favr febraayo shk
        shkurt few fewral ፌብ ፌብሩዋሪ ফেব্ৰু ফেব্ৰুৱাৰী лют лютага люты фев ফেব úno فوریه
        ફેબ્રુ ફેબ્રુઆરી פבר׳ फ़र॰ veljača veljače február փետրվար փետրվարի փտվ თებ
        თებერვალი ақпан ақп កុម្ភៈ ಫೆಬ್ರ ಫೆಬ್ರವರಿ ກ.ພ ກຸມພາ februāris ഫെബ്രു ഫെബ്രുവരി
        फेब्रु फेब्रुवारी ဖေ ဖေဖော်ဝါရီ फेब्रुअरी ଫେବୃଆରୀ ਫ਼ਰ ਫ਼ਰਵਰੀ فبروري فېبروري февр
        නවම් феб பிப் பிப்ரவரி ఫిబ్ర ఫిబ్రవరి феврал şub лютий فروری нар нарӑс""",
    3: """märz maerz mrz mär mars març maart março marzec marca březen března марта март березня
        marta martā
        mart martie maaliskuu maaliskuuta märts kovo március márc
        μαρτίου μάρτιος μαρ μάρ
        maret mac marso مارس آذار מרץ मार्च মার্চ มีนาคม มี.ค
        mar mrt maw mawrth marts marzo martxoa maalis kov kovas marzu marec maarso machi ማርች
        মাৰ্চ сак сакавік сакавіка bře márta માર્ચ ožu ožujak ožujka մարտ մարտի մրտ მარ
        მარტი наурыз нау មីនា ಮಾರ್ಚ್ мар mäe mäerz ມ.ນ ມີນາ മാർ മാർച്ച് မတ် ମାର୍ଚ୍ଚ ਮਾਰਚ
        مارچ මැදින් மார் மார்ச் మార్చి бер березень пуш""",
    4: """avril avr abril abr aprile april apríl kwiecień kwietnia duben dubna апреля апрель квітня
        aprila aprīlī априла
        април nisan huhtikuu huhtikuuta aprill balandžio április ápr
        απριλίου απρίλιος απρ
        أبريل ابريل إبريل أفريل نيسان אפריל अप्रैल এপ্রিল เมษายน เม.ย
        aprel dub ebr ebrill api apirila huhti aib tra travanj travnja bal balandis kwi
        avrigl aprilie abriil pri prill aprili nis ኤፕሪ ኤፕሪል এপ্ৰিল кра красавік красавіка
        апр এপ্রি آوریل aibreán એપ્રિલ אפר׳ ապր ապրիլ ապրիլի აპრ აპრილი сәуір сәу មេសា ಏಪ್ರಿ
        ಏಪ್ರಿಲ್ abrëll ມ.ສ ເມສາ aprīlis ഏപ്രി ഏപ്രിൽ एप्रि एप्रिल ဧပြီ अप्रिल ଅପ୍ରେଲ ਅਪ੍ਰੈ
        ਅਪ੍ਰੈਲ اپریل බක් apríla ஏப் ஏப்ரல் ఏప్రి ఏప్రిల్ апрел квіт квітень ака""",
    5: """may mai maj mei maio mayo maggio mag maja květen května мая май травня mayıs mayis
        maijā маја
        toukokuu toukokuuta gegužės május máj maí maig
        μαΐου μάιος μαΐ μάι
        مايو ماي أيار מאי मई মে พฤษภาคม พ.ค
        maiatza touko maaie beal bealtaine svi svibanj svibnja mee geg maijs mej mejju matg
        maayo ሜይ মে’ kvě مه મે մայիս մայիսի մյս მაი მაისი мамыр мам ឧសភា ಮೇ ພ.ພ ພຶດສະພາ
        gegužė мај മേയ് मे မေ ମଇ ਮਈ مۍ වෙසක් mája மே మే maý трав травень مئی ҫу""",
    6: """juni juin junho junio giugno giu iunie czerwiec czerwca červen června июня июнь червня
        juna junija jūnijā јуна
        юни јун haziran kesäkuu kesäkuuta juuni birželio június jún júní juny
        ιουνίου ιούνιος ιουν ιούν
        hunyo يونيو يونيه جوان حزيران יוני जून জুন มิถุนายน มิ.ย
        jun junie iyn iyun meh mehefin eka ekaina hun meith meitheamh lipanj lipnja cze
        zercladur zercl iun junij juun qer qershor haz ጁን чэр чэрвень чэрвеня čvn ژوئن kesä
        xuño જૂન հնս հունիս հունիսի ივნ ივნისი маусым мау មិថុនា ಜೂನ್ июн ມິ.ຖ ມິຖຸນາ birž
        birželis jūn jūnijs јуни ജൂൺ ġun ġunju ဇွန် जुन ଜୁନ ਜੂਨ جون පොසොන් júna ஜூன் జూన్
        iýun черв червень ҫӗрт ҫӗртме""",
    7: """juli juillet juil julho julio luglio lug iulie lipiec lipca červenec července июля июль
        jula julija jūlijā јула
        липня юли јул temmuz heinäkuu heinäkuuta juuli liepos július júl júlí juliol
        ιουλίου ιούλιος ιουλ ιούλ
        julai hulyo يوليو يوليه جويلية تموز יולי जुलाई জুলাই กรกฎาคม ก.ค
        julie iyl iyul jul gor gorff gorffennaf uzt uztaila hul juill xul xullo srpanj
        srpnja liep liepa lul lulju fanadur fan iul julij luulyo korr korrik tem ጁላይ يوليوز
        ліп ліпень ліпеня জুল čvc ژوئیه heinä iúil જુલાઈ जुल॰ հլս հուլիս հուլիսի ივლ ივლისი
        шілде шіл កក្កដា ಜುಲೈ июл ກ.ລ ກໍລະກົດ jūl jūlijs јули ജൂലൈ जुलै ဇူ ဇူလိုင် ଜୁଲାଇ
        ਜੁਲਾ ਜੁਲਾਈ جولای ඇසළ júla ஜூலை జులై iýul лип липень جولائی утӑ""",
    8: """août aout agosto ago sierpień sierpnia srpen srpna августа август серпня ağustos
        avgusta augustā
        elokuu elokuuta augustus rugpjūčio augusztus ágúst agost
        αυγούστου αύγουστος αυγ αύγ
        agustus ogos أغسطس اغسطس أوت آب אוגוסט अगस्त আগস্ট สิงหาคม ส.ค
        avq avqust awst abu abuztua elo kol kolovoz kolovoza agu rugp augusts ogo aww
        awwissu sie avust augusta avg avgust ogosto ogs gush gusht augusti agosti awg awgust
        ኦገስ ኦገስት غشت আগ আগষ্ট жні жнівень жніўня авг اوت lún lúnasa ઑગસ્ટ אוג׳ अग॰ օգոստոս
        օգոստոսի օգս ágú აგვ აგვისტო тамыз там សីហា ಆಗ ಆಗಸ್ಟ್ ສ.ຫ ສິງຫາ rugpjūtis ഓഗ
        ഓഗസ്റ്റ് ऑग ऑगस्ट ဩဂုတ် अगस्ट ଅଗଷ୍ଟ ਅਗ ਅਗਸਤ اګست නිකිණි ஆக ஆகஸ்ட் ఆగ ఆగస్టు ağu серп
        серпень اگست ҫур ҫурла""",
    9: """sep sept settembre septembre septiembre setiembre setembro set wrzesień września
        septembrī септембра září сентября
        сентябрь вересня септември септембар eylül syyskuu syyskuuta rugsėjo
        szeptember szept setembre
        σεπτεμβρίου σεπτέμβριος σεπτ σεπ
        setyembre سبتمبر أيلول ספטמבר सितंबर सितम्बर সেপ্টেম্বর กันยายน ก.ย
        sen sentyabr septembar medi ira iraila syys septimber ruj rujan rujna rugs
        septembris settembru wrz settember sett septembrie septembra seb sebteembar
        sebtembar sht shtator septemba eyl sentabr ሴፕቴ ሴፕቴምበር شتنبر ছেপ্তে ছেপ্তেম্বৰ вер
        верасень верасня сеп সেপ সেপ্ট zář سپتامبر mfómh meán_fómhair સપ્ટે સપ્ટેમ્બર ספט׳
        सित॰ սեպ սեպտեմբեր սեպտեմբերի სექ სექტემბერი қыркүйек қыр កញ្ញា ಸೆಪ್ಟೆಂ ಸೆಪ್ಟೆಂಬರ್
        сен ກ.ຍ ກັນຍາ rugsėjis സെപ്റ്റം സെപ്റ്റംബർ सप्टें सप्टेंबर စက် စက်တင်ဘာ सेप्टेम्बर
        ସେପ୍ଟେମ୍ବର ਸਤੰ ਸਤੰਬਰ سپتمبر سېپتمبر сент බිනර செப் செப்டம்பர் సెప్టెం సెప్టెంబర్
        сентябр sentýabr вересень ستمبر авӑн""",
    10: """oktober okt ottobre ott outubro out październik października říjen října октября октябрь
        oktobra oktobrī октобра
        жовтня октомври октобар ekim lokakuu lokakuuta oktoober spalio október
        οκτωβρίου οκτώβριος οκτ
        oktubre أكتوبر اكتوبر אוקטובר अक्टूबर अक्तूबर অক্টোবর ตุลาคม ต.ค
        oktyabr oktobar oct octubre hyd hydref urr urria loka octobre spal spalis oktobris
        ottubru october octombrie oktoobar tet tetor oktoba eki oktabr ኦክቶ ኦክቶበር تشرين_الأول
        অক্টো অক্টোবৰ кас кастрычнік кастрычніка окт říj اکتبر dfómh deireadh_fómhair ઑક્ટો
        ઑક્ટોબર אוק׳ अक्टू॰ հոկ հոկտեմբեր հոկտեմբերի ოქტ ოქტომბერი қазан қаз តុលា ಅಕ್ಟೋ
        ಅಕ್ಟೋಬರ್ ຕ.ລ ຕຸລາ ഒക്ടോ ഒക്ടോബർ ऑक्टो ऑक्टोबर အောက် အောက်တိုဘာ अक्टोबर ଅକ୍ଟୋବର ਅਕਤੂ
        ਅਕਤੂਬਰ paź اکتوبر වප් októbra அக் அக்டோபர் అక్టో అక్టోబర్ октябр oktýabr жовт
        жовтень юпа""",
    11: """noviembre ноября ноябрь ноември новембар kasım kasim marraskuu marraskuuta
        novembrī nopember новембра
        lapkričio nóvember november
        νοεμβρίου νοέμβριος νοε νοέ
        nobyembre نوفمبر נובמבר नवंबर नवम्बर নভেম্বর พฤศจิกายน พ.ย
        noy noyabr novembar nov novembre listopadu tach tachwedd aza azaroa marras nob
        novimber samh samhain novembro stu studeni studenoga lapkr lapkritis novembris
        novembru noiembrie novembra nof noofeembar novemba kas ኖቬም ኖቬምበር تشرين_الثاني نونبر
        নৱে নৱেম্বৰ ліс лістапад лістапада ное নভে نوامبر નવે નવેમ્બર נוב׳ नव॰ նոյ նոյեմբեր
        նոյեմբերի nóv ნოე ნოემბერი қараша қар វិច្ឆិកា ನವೆಂ ನವೆಂಬರ್ ноя ພ.ຈ ພະຈິກ നവം നവംബർ
        नोव्हें नोव्हेंबर နို နိုဝင်ဘာ नोभेम्बर ନଭେମ୍ବର ਨਵੰ ਨਵੰਬਰ نومبر нояб ඉල් nën nëntor
        нов நவ நவம்பர் నవం నవంబర్ ноябр noý noýabr лист листопад листопада чӳк""",
    12: """dezember dez décembre déc diciembre dicembre dic dezembro grudzień grudnia prosinec
        decembrī децембра
        prosince декабря декабрь грудня декември децембар aralık aralik joulukuu joulukuuta
        detsember gruodžio desember des desembre
        δεκεμβρίου δεκέμβριος δεκ
        disember disyembre ديسمبر דצמבר दिसंबर दिसम्बर ডিসেম্বর ธันวาคม ธ.ค
        dek dekabr decembar rhag rhagfyr dets abe abendua joulu dis desimber noll nollaig
        decembro prosinac prosinca gruod gruodis decembris gru december decembrie decembra
        diseembar dhj dhjetor desemba ara ዲሴም ዲሴምበር كانون_الأول دجنبر ডিচে ডিচেম্বৰ сне
        снежань снежня дек ডিসে دسامبر ડિસે ડિસેમ્બર דצמ׳ दिस॰ դեկ դեկտեմբեր դեկտեմբերի დეკ
        დეკემბერი желтоқсан жел ធ្នូ ಡಿಸೆಂ ಡಿಸೆಂಬರ್ ທ.ວ ທັນວາ ഡിസം ഡിസംബർ डिसें डिसेंबर diċ
        diċembru ဒီ ဒီဇင်ဘာ डिसेम्बर ଡିସେମ୍ବର ਦਸੰ ਦਸੰਬਰ دسمبر උඳුවප් дец டிச டிசம்பர் డిసెం
        డిసెంబర్ декабр груд грудень раш раштав""",
}


def normalize(text: str) -> str:
    """Return *text* in NFKC, without marks that are not displayed, such as those of direction."""
    text = unicodedata.normalize("NFKC", text)
    return "".join(one for one in text if unicodedata.category(one) != "Cf")


NUMBERS = {
    normalize(name).replace("_", " "): number
    for number, names in _NAMES.items()
    for name in names.split()
}
"""Month by its name in lower case, normalized."""
