"""The first article of the declaration of human rights in sixteen scripts (unicode.org/udhr)."""

# ruff: noqa: RUF001 - these are other alphabets

from tests.parser.legacy import (
    ARABIC,
    FRENCH,
    GREEK,
    HEBREW,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    SIMPLIFIED,
    THAI,
    TRADITIONAL,
)

LAO = (
    "ມະນຸດທຸກຄົນເກີດມາມີກຽດສັກສີ, ສິດທິ, ເສລີພາບແລະຄວາມສະເໝີພາບເທົ່າທຽມກັນ. "
    "ທຸກໆຄົນມີເຫດຜົນແລະຄວາມຄິດຄວາມເຫັນສ່ວນຕົວຂອງໃຜຂອງມັນ"
)
KHMER = (
    "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។ មនុស្ស "
    "មានវិចារណញ្ញាណនិងសតិសម្បជញ្ញៈជាប់ពីកំណើត "
    "ហើយគប្បីប្រព្រឹត្ដចំពោះគ្នាទៅវិញទៅមកក្នុងស្មារតីភាតរភាពជាបងប្អូន។"
)
BURMESE = (
    "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း၊ တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့် လည်းကောင်း၊ မွေးဖွားလာသူများ ဖြစ်သည်။"
)
DZONGKHA = "ཡང་ན་བརླག་སྟོར་ཞུགས་ཡོད་པའི་རྟེན་འབྲེལ་གི་རྒྱུ་རྐྱེན་ལས་བརྟེན་པའི་འཛོལ་བ་ཚུ་ནང་ལུ་གྲུབ་འབྲས་འཐོན་འོང་།"
"""A message of the package manager APT, in the Tibetan script."""
HINDI = (
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है । "
    "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए ।"
)
BENGALI = (
    "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি আছে; "
    "সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।"
)
ARMENIAN = (
    "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։ Նրանք ունեն "
    "բանականություն ու խիղճ և միմյանց պետք է եղբայրաբար վերաբերվեն։"
)
GEORGIAN = (
    "ყოველი ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ "
    "მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა ექცეოდნენ ძმობის სულისკვეთებით."
)
SPACELESS = {
    "Han, simplified": SIMPLIFIED,
    "Han, traditional": TRADITIONAL,
    "Kana": JAPANESE,
    "Thai": THAI,
    "Lao": LAO,
    "Khmer": KHMER,
    "Burmese": BURMESE,
    "Tibetan": DZONGKHA,
}
"""Scripts without spaces between words."""
SPACED = {
    "Hangul": KOREAN,
    "Latin": FRENCH,
    "Greek": GREEK,
    "Cyrillic": RUSSIAN,
    "Hebrew": HEBREW,
    "Arabic": ARABIC,
    "Devanagari": HINDI,
    "Bengali": BENGALI,
    "Armenian": ARMENIAN,
    "Georgian": GEORGIAN,
}
"""Scripts with spaces between words."""
