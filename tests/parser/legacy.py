"""The first article of the declaration of human rights, in languages with legacy encodings."""

# ruff: noqa: RUF001 - these are other alphabets

RUSSIAN = (
    "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства."
)
POLISH = (
    "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa."
)
CZECH = (
    "Všichni lidé se rodí svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a "
    "svědomím a mají spolu jednat v duchu bratrství. Žádný člověk nesmí být držen v otroctví."
)
GREEK = (
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι "
    "προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα "
    "αδελφοσύνης."
)
TURKISH = (
    "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler "
    "ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler. Hiç kimse kölelik veya "
    "kulluk altında bulundurulamaz."
)
HEBREW = (
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה "
    "עליהם לנהוג איש ברעהו ברוח של אחווה."
)
ARABIC = (
    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل "
    "بعضهم بعضا بروح الإخاء. لكل فرد حق في الحياة والحرية وفي الأمان على شخصه."
)
JAPANESE = (
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、"
    "理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。"
)
KOREAN = (
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 "
    "이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다."
)
SIMPLIFIED = (
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
    "人人有资格享有本宣言所载的一切权利和自由，不分种族、肤色、性别、语言、宗教。"
)
TRADITIONAL = (
    "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。"
    "人人有資格享有本宣言所載的一切權利和自由，不分種族、膚色、性別、語言、宗教。"
)
THAI = (
    "มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในศักดิ์ศรีและสิทธิ ต่างในตนมีเหตุผลและมโนธรรม "
    "และควรปฏิบัติต่อกันด้วยจิตวิญญาณแห่งภราดรภาพ"
)
FRENCH = (
    "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de "
    "raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
    "fraternité."
)
TEXTS = [
    ("windows-1251", RUSSIAN),
    ("koi8-r", RUSSIAN),
    ("iso-8859-5", RUSSIAN),
    ("ibm866", RUSSIAN),
    ("windows-1250", CZECH),
    ("iso-8859-2", POLISH),
    ("windows-1253", GREEK),
    ("iso-8859-7", GREEK),
    ("windows-1254", TURKISH),
    ("windows-1255", HEBREW),
    ("windows-1256", ARABIC),
    ("shift_jis", JAPANESE),
    ("euc-jp", JAPANESE),
    ("iso-2022-jp", JAPANESE),
    ("euc-kr", KOREAN),
    ("gb18030", SIMPLIFIED),
    ("big5", TRADITIONAL),
    ("windows-874", THAI),
    ("windows-1252", FRENCH),
]
