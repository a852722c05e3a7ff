"""Pages from reports about other programs, which `tests/reports/README.md` names.

A row is a report: the markup of a part of an article, and the lines that a reader sees there.
"""

# ruff: noqa: E501, RUF001 (markup in one line; other alphabets)
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.services.parser.page import parse
from tests.parser.pages import OPTIONS, page_response

BEFORE = "".join(
    f"<p>In chapter {number} the keeper of the ferry writes down what the river did in the night, "
    "and who crossed it without a light.</p>"
    for number in range(6)
)
AFTER = "".join(
    f"<p>On page {number} the book of the bridge tells how many carts were counted in the spring, "
    "and which of them came back before the flood.</p>"
    for number in range(6)
)
URL = "https://docs.example.org/guide/page.html"
HTML = ("Content-Type", "text/html")
UTF8 = ("Content-Type", "text/html; charset=utf-8")


class Part(NamedTuple):
    """A part of an article."""

    markup: str
    text: str = ""
    markdown: str = ""


def read(body: str | bytes, header: tuple[str, str] = UTF8) -> PageParsed:
    encoded = body.encode() if isinstance(body, str) else body
    page = replace(page_response(encoded, header, url=URL), started_at=1.9e9)
    return parse(page, replace(OPTIONS, markdown=True), 2e9)


def read_article(inner: str, head: str = "") -> PageParsed:
    article = f"<article><h1>The ferry</h1>{BEFORE}{inner}{AFTER}</article>"
    return read(f"<!DOCTYPE html><html lang=en><title>Ferry</title>{head}<body>{article}")


def part_of(whole: str | None) -> str:
    """Return what is between the paragraphs before and after a part."""
    _, found, rest = (whole or "").partition("In chapter 5 ")
    assert found
    _, _, part = rest.partition("\n")
    return part.partition("On page 0")[0].strip("\n")


PARTS = {
    # Titles of panels.
    "alphagov/govuk-design-system#1961": Part(
        "<h3><button aria-expanded=true>What is it?</button></h3><p>It is a bridge over a river.</p>",
        "What is it?\nIt is a bridge over a river.",
        "### What is it?\n\nIt is a bridge over a river.",
    ),
    "patternfly/patternfly#1990": Part(
        "<dl><dt><button aria-expanded=false>What is it?</button></dt><dd>It is a bridge over a river.</dd></dl>",
        "What is it?\nIt is a bridge over a river.",
        "**What is it?**\n\nIt is a bridge over a river.",
    ),
    "button that is not a title": Part(
        "<h3>The bridge<button>Copy</button></h3><p>It is a bridge over a river.</p><button>Share</button><p><button>Like</button></p>",
        "The bridge\nIt is a bridge over a river.",
    ),
    # Boxes, tables and lists.
    "readability#776": Part(
        "<section><div><p>It is the first box.</p></div></section>"
        "<section><div><p>It is the second.</p></div></section>",
        "It is the first box.\nIt is the second.",
    ),
    "trafilatura#10": Part(
        "<div class=accordion><h3>For buyers</h3><div class=accordion-content><p>You own it.</p></div>"
        "</div>",
        "For buyers\nYou own it.",
    ),
    "trafilatura#304": Part(
        "</article><div class=ad>Buy</div><article><p>The second part is as long as it is.</p>",
        "The second part is as long as it is.",
    ),
    "readability#775": Part(
        "<table><thead><tr><th>Year<th>Film</thead><tr><td>1993<td><a href=/g>Groundhog</a></table>",
        "Year | Film\n1993 | Groundhog",
        "| Year | Film |\n| --- | --- |\n| 1993 | [Groundhog](https://docs.example.org/g) |",
    ),
    "trafilatura#634": Part(
        "<figure class=wp-block-table><table><tr><td>a<td></tr><tr><td>b<td>c</table></figure>",
        "a\nb | c",
    ),
    "readability#709": Part(
        "<pre class=language-js><code>a() {<br>\treturn 1;<br>}<br><br>a()</code></pre>",
        "a() {\n\treturn 1;\n}\n\na()",
        "```js\na() {\n\treturn 1;\n}\n\na()\n```",
    ),
    "readability#740": Part(
        "<div class='highlight sh'><pre><span></span><span class=gp>$ </span>pip install</pre></div>",
        "$ pip install",
        "```sh\n$ pip install\n```",
    ),
    "html-to-markdown#68": Part("<dl><dd>What is it?</dd></dl>", "What is it?", "What is it?"),
    # White space and line breaks.
    "python-markdownify#155, markitdown#1539": Part(
        "<p>further<strong> </strong>reference, <b>First</b><b> </b><b>Last</b></p>",
        "further reference, First Last",
        "further reference, **First** **Last**",
    ),
    "reMarked.js#32, stackedit#912, agentmarkdown#403": Part(
        "<p>text with<em> italics </em>in it</p>",
        "text with italics in it",
        "text with *italics* in it",
    ),
    "html-text#16, poliloom#152, jsoup#1448": Part(
        "<p><strong>fo</strong>o, <a href=/d>duoraadslid</a>. <span>N</span>o one</p>",
        "foo, duoraadslid. No one",
        "**fo**o, [duoraadslid](https://docs.example.org/d). No one",
    ),
    "cheerio#2841": Part(
        "<ul><li>an easy-to-use interface.</li><li>Flipboard is customizable.</li></ul>",
        "an easy-to-use interface.\nFlipboard is customizable.",
        "- an easy-to-use interface.\n- Flipboard is customizable.",
    ),
    "ferret#500": Part(
        "<div><span>First in a line of its own, as styled.</span>"
        "<span style='display:block'>Second in a line of its own, as styled.</span></div>",
        "First in a line of its own, as styled.\nSecond in a line of its own, as styled.",
    ),
    "html-to-text#178": Part(
        "<p>open&nbsp;<strong>it&nbsp;<em>okay see</em></strong><br></p><p><strong>join</strong></p>",
        "open it okay see\njoin",
        "open **it *okay see***\n\n**join**",
    ),
    "grobian/html2text#13": Part(
        "<p><span><strong>Home Movements and Exercises&nbsp;</strong></span></p>",
        "Home Movements and Exercises",
        "**Home Movements and Exercises**",
    ),
    "html-to-text#285": Part("<p><style>a{}</style>&apos;<br/>next</p>", "'\nnext", "'  \nnext"),
    "html-to-markdown#487": Part(
        "<p>Type <code>cd<br>ls</code> or <b>A<br>B</b></p>",
        "Type cd\nls or A\nB",
        "Type `cd`  \n`ls` or **A**  \n**B**",
    ),
    "readability#498": Part(
        "<div>He said this about the companies that people of the ferry had founded in the town:<br><br><blockquote>80% of the spinoffs succeed.</blockquote>"
        "The next paragraph was lost, too, in the reader's mode.</div>",
        "He said this about the companies that people of the ferry had founded in the town:\n80% of the spinoffs succeed.\n"
        "The next paragraph was lost, too, in the reader's mode.",
        "He said this about the companies that people of the ferry had founded in the town:\n\n> 80% of the spinoffs succeed.\n\n"
        "The next paragraph was lost, too, in the reader's mode.",
    ),
    "html2text#264, trafilatura#889": Part(
        "<p>100<sup>2</sup> terminal nodes of 10<sup>-6</sup> m<sup>2</sup> on the 5<sup>th</sup> "
        "day<sup><a href='#n'>1</a></sup>, <sup>1</sup>/<sub>2</sub> of them <sup>a</sup></p>",
        "100² terminal nodes of 10⁻⁶ m² on the 5th day¹, 1/2 of them a",
        f"100² terminal nodes of 10⁻⁶ m² on the 5th day[¹]({URL}#n), 1/2 of them a",
    ),
    "the same kind in MathML": Part(
        "<p>Let <math class=math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math> be.</p>",
        "Let x²+1/2 be.",
        "Let x²+1/2 be.",
    ),
    "python-markdownify#216, html-to-markdown#28": Part(
        "<p>Here is <q>A Quote</q> from <q>someone <em>else</em></q>.</p>",
        "Here is \u201cA Quote\u201d from \u201csomeone else\u201d.",
        "Here is \u201cA Quote\u201d from \u201csomeone *else*\u201d.",
    ),
    "ckeditor5#15167, bene#174": Part(
        "<blockquote><p>Words can be like X-rays.</p><footer class=blockquote-footer>—Aldous Huxley, "
        "<cite>Brave New World</cite></footer></blockquote>",
        "Words can be like X-rays.\n—Aldous Huxley, Brave New World",
        "> Words can be like X-rays.\n>\n> —Aldous Huxley, Brave New World",
    ),
    "vutuv#1203, the kind": Part(
        "<ol><li><p>The first note. <a href='#fnref1' class=footnote-backref>↩</a></p><li><p>The second note."
        "<a href='#fnref2' role=doc-backlink>↩\ufe0e</a></p><li><span class=mw-cite-backlink><b><a href='#r'>^</a></b>"
        "</span> The third note.</ol>",
        "The first note.\nThe second note.\nThe third note.",
        "1. The first note.\n2. The second note.\n3. The third note.",
    ),
    "an anchor around text": Part(
        "<p>See <a name=x>The anchor of old pages</a>.</p>",
        "See The anchor of old pages.",
        "See The anchor of old pages.",
    ),
    # Code.
    "thephpleague/html-to-markdown#245": Part(
        '<pre><code># When I wrote it<br># <span class="hl">it</span> hurt<br>x &lt; y</code></pre>',
        "# When I wrote it\n# it hurt\nx < y",
        "```\n# When I wrote it\n# it hurt\nx < y\n```",
    ),
    "markdownload#199": Part(
        "<pre class=language-text>line1<br><br><br>line2</pre>",
        "line1\n\n\nline2",
        "```\nline1\n\n\nline2\n```",
    ),
    "turndown#66, #111": Part(
        "<pre>no code element\n  in it</pre>",
        "no code element\n  in it",
        "```\nno code element\n  in it\n```",
    ),
    "html2markdown#12": Part(
        "<pre><code>import random\n\n\nnum = 1\nif num:\n    print(num)</code></pre>",
        "import random\n\n\nnum = 1\nif num:\n    print(num)",
        "```\nimport random\n\n\nnum = 1\nif num:\n    print(num)\n```",
    ),
    # Lists.
    "turndown#450, #26": Part(
        "<ol> <li>Item #1 <ol> <li>Child 1 <ol> <li>Grandchild 1</li> </ol> </li> </ol> </li> <li>Item #2</li> </ol>",
        "Item #1\nChild 1\nGrandchild 1\nItem #2",
        "1. Item #1\n   1. Child 1\n      1. Grandchild 1\n2. Item #2",
    ),
    "turndown#356": Part(
        "<ul><li><div>Level1</div><ul><li><div>Level2</div></li></ul></li><li><div>Level1</div></li></ul>",
        "Level1\nLevel2\nLevel1",
        "- Level1\n  - Level2\n- Level1",
    ),
    "turndown#354, #446": Part(
        "<ul><li>Level 1</li><ul><li>Level 2</li><ul><li>Level 3</li></ul></ul></ul>",
        "Level 1\nLevel 2\nLevel 3",
        "- Level 1\n  - Level 2\n    - Level 3",
    ),
    "turndown#246": Part(
        "<ol start=9><li><p>9</p></li><li><p>Test</p><p>Test</p></li></ol>",
        "9\nTest\nTest",
        "9. 9\n10. Test\n\n    Test",
    ),
    "python-markdownify#22, all2md#87": Part(
        "<ol start=6><li>brown<li>fox</ol>", "brown\nfox", "6. brown\n7. fox"
    ),
    "mmark#108": Part(
        "<ol reversed><li>Third<li>Second<li>First</ol>",
        "Third\nSecond\nFirst",
        "3. Third\n2. Second\n1. First",
    ),
    "trafilatura#167": Part(
        "<ul><li>Coffee</li><li>Tea<ul><li>Black tea</li><li>Green tea</li></ul></li><li>Milk</li></ul>",
        "Coffee\nTea\nBlack tea\nGreen tea\nMilk",
        "- Coffee\n- Tea\n  - Black tea\n  - Green tea\n- Milk",
    ),
    # Tables.
    "trafilatura#534": Part(
        "<table><tr><td><small>text<br></small><h4>more text</h4></td><td><a href=link>linktext</a></td></tr></table>",
        "text\nmore text\nlinktext",
    ),
    "trafilatura#599": Part(
        "<table><tr><th colspan=2>Plants<br>Temporal range</th></tr><tr><td>Domain:</td><td>Euk<wbr>aryota</td></tr></table>",
        "Plants Temporal range\nDomain: | Eukaryota",
        "| Plants<br>Temporal range |  |\n| --- | --- |\n| Domain: | Eukaryota |",
    ),
    "trafilatura#829": Part(
        "<table><tr><td><p><b>GPT-5.4</b></p></td><td>new</td></tr></table>",
        "GPT-5.4 | new",
        "|  |  |\n| --- | --- |\n| **GPT-5.4** | new |",
    ),
    "trafilatura#76, papeer#23": Part(
        "<table><tr><td>Hash</td><td><a href=/1>4b2c81</a></td></tr><tr><td>Host</td><td><a href=/2>evil.example</a></td></tr></table>",
        "Hash | 4b2c81\nHost | evil.example",
        "|  |  |\n| --- | --- |\n| Hash | [4b2c81](https://docs.example.org/1) |\n| Host | [evil.example](https://docs.example.org/2) |",
    ),
    "html2markdown#4": Part(
        "<table><tbody><tr> <td><p>a1</p></td> <td><p>b1</p></td> </tr></tbody></table>",
        "a1 | b1",
        "|  |  |\n| --- | --- |\n| a1 | b1 |",
    ),
    "crawl4ai#1731, #1964": Part(
        "<h3>Guidelines</h3><table><tr><th>Parameter<th>Guideline<tr><td>Arsenic<td>0.010</table>",
        "Guidelines\nParameter | Guideline\nArsenic | 0.010",
        "### Guidelines\n\n| Parameter | Guideline |\n| --- | --- |\n| Arsenic | 0.010 |",
    ),
    "html-to-markdown#13, mdka-rs#32": Part(
        "<table><tr><td><img src=/back16.gif alt='[DIR]'>&nbsp;Go back</td><td>&Opens the last page</td></tr></table>",
        "Go back | &Opens the last page",
        "|  |  |\n| --- | --- |\n| ![[DIR]](https://docs.example.org/back16.gif) Go back | &Opens the last page |",
    ),
    "reversemarkdown-net#122": Part(
        "<ol><li>number1</li><li>n2&nbsp;<table><tr><td>h1</td><td>h2</td></tr></table></li><li>n3</li></ol>",
        "number1\nn2\nh1 | h2\nn3",
        "1. number1\n2. n2\n\n   |  |  |\n   | --- | --- |\n   | h1 | h2 |\n3. n3",
    ),
    "reversemarkdown-net#40": Part(
        "<table><tr><th>Name<th>Parts</tr><tr><td>Bridge<td><ol><li>arch<li>pier</ol></tr></table>",
        "Name | Parts\nBridge | arch pier",
        "| Name | Parts |\n| --- | --- |\n| Bridge | arch<br>pier |",
    ),
    "moby#18223, markdown#436": Part(
        "<table><tr><th>Option<th>Use</tr><tr><td><code>a|b</code><td>either</tr></table>",
        "Option | Use\na|b | either",
        "| Option | Use |\n| --- | --- |\n| `a\\|b` | either |",
    ),
    # Links, images and marks.
    "html-to-markdown#114": Part(
        "<p>The keeper of the ferry said <a href=/x>Hi :]</a> and <a href=/x>[1]</a></p>",
        "The keeper of the ferry said Hi :] and [1]",
        "The keeper of the ferry said [Hi :\\]](https://docs.example.org/x) and [[1]](https://docs.example.org/x)",
    ),
    "crawl4ai#722, #402": Part(
        "<p>under the <a href='https://www.gnu.org/licenses/gpl_3.html'>GNU GPL License</a> and <a href='</yj/?a'>it</a></p>",
        "under the GNU GPL License and it",
        "under the [GNU GPL License](https://www.gnu.org/licenses/gpl_3.html) and [it](https://docs.example.org/guide/%3C/yj/?a)",
    ),
    "Alir3z4/html2text#24": Part(
        "<p>The keeper has a <a href=/l><b>Text</b></a> <a href=/i.jpg><img alt=Title src=/t.jpg></a></p>",
        "The keeper has a Text",
        "The keeper has a [**Text**](https://docs.example.org/l) [![Title](https://docs.example.org/t.jpg)](https://docs.example.org/i.jpg)",
    ),
    "workers-sdk#13406": Part(
        "<p>A picture of the ferry <img src='/images/logo.jpg' alt=alt></p>",
        "A picture of the ferry",
        "A picture of the ferry ![alt](https://docs.example.org/images/logo.jpg)",
    ),
    "reversemarkdown-net#427": Part(
        "<p>Seen <img src='data:image/png;base64,AAAA' data-src=/image.webp></p>",
        "Seen",
        "Seen ![](https://docs.example.org/image.webp)",
    ),
    "JohannesKaufmann/html-to-markdown#199, #25": Part(
        "<p>Seen <img alt='' data-original=/a.png> <img data-lazy-src=/b.png src='data:x'></p>",
        "Seen",
        "Seen ![](https://docs.example.org/a.png) ![](https://docs.example.org/b.png)",
    ),
    "suntong/html2md#19": Part(
        "<p>Seen <img srcset='/a-1.png 1x, /a-2.png 2x'> <img data-srcset='/b.png 300w'></p>",
        "Seen",
        "Seen ![](https://docs.example.org/a-1.png) ![](https://docs.example.org/b.png)",
    ),
    "aaronsw/html2text#133, #111": Part(
        "<p>1. Hello my name is</p><p>a. --</p><p>2.5 is more</p>",
        "1. Hello my name is\na. --\n2.5 is more",
        "1\\. Hello my name is\n\na. --\n\n2.5 is more",
    ),
    "crt-portal#1367, enketo#944": Part(
        "<p>use snake_case_name at <a href='/a_b_c'>https://x.org/a_b_c</a></p>",
        "use snake_case_name at https://x.org/a_b_c",
        "use snake_case_name at [https://x.org/a_b_c](https://docs.example.org/a_b_c)",
    ),
    "rehype-remark#13, slax-reader-web#247": Part(
        "<p><strong>「台灣」</strong>主題，<strong>注意：</strong>正文。</p>",
        "「台灣」主題，注意：正文。",
        "**「台灣**」主題，**注意**：正文。",
    ),
    "marked#3617": Part(
        "<p>0(OFF)<b>1(ON)</b>0(OFF), <b>마크다운(Markdown)</b>의 문법</p>",
        "0(OFF)1(ON)0(OFF), 마크다운(Markdown)의 문법",
        "0(OFF)**1(ON**)0(OFF), **마크다운(Markdown**)의 문법",
    ),
    "epub2txt2#32, thorium-reader#2914": Part(
        "<p>その言葉が<ruby>表<rt>ひょう</rt>示<rt>じ</rt></ruby>された<ruby>瞬間<rp>(</rp><rt>しゅんかん</rt><rp>)</rp></ruby></p>",
        "その言葉が表(ひょう)示(じ)された瞬間(しゅんかん)",
        "その言葉が表(ひょう)示(じ)された瞬間(しゅんかん)",
    ),
    # Parts of the page.
    "(rustdoc)": Part(
        "<h2><div>impl Clone for Ferry</div><div class=where>where T: Clone,</div></h2><p>A clone of the ferry.</p>",
        "impl Clone for Ferry\nwhere T: Clone,\nA clone of the ferry.",
        "## impl Clone for Ferry where T: Clone,\n\nA clone of the ferry.",
    ),
    "readability#487": Part(
        "<aside class='starlight-aside starlight-aside--note' aria-label=Note><p class=starlight-aside__title>Note</p>"
        "<div class=starlight-aside__content><p>The ferry does not run in the winter, when the river is frozen.</p></div></aside>",
        "Note\nThe ferry does not run in the winter, when the river is frozen.",
        "> **Note**\n>\n> The ferry does not run in the winter, when the river is frozen.",
    ),
    "reader-view#191": Part(
        "<aside class=quote data-username=kim><div class=title>kim:</div><blockquote><p>The old ferry was much faster than the new one.</p></blockquote></aside>"
        "<p>It was not.</p>",
        "kim:\nThe old ferry was much faster than the new one.\nIt was not.",
    ),
    "readability.php#53": Part(
        "<aside><h3>Look at our other articles!</h3><ul><li><a href=1>Ten best ferries</a><li><a href=2>Nine best</a></ul></aside>",
        "",
    ),
    "readability#888": Part(
        "<h2><a href=/manuals rel=bookmark>Manuals on Flathub</a></h2><p>The manuals are here since Monday, for the ferry and the bridge.</p>",
        "Manuals on Flathub\nThe manuals are here since Monday, for the ferry and the bridge.",
        "## [Manuals on Flathub](https://docs.example.org/manuals)\n\n"
        "The manuals are here since Monday, for the ferry and the bridge.",
    ),
    # Formulas.
    "lion-reader#1386, ropensci/katex#5": Part(
        "<p>energy is <span class=katex><math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow>"
        "<annotation encoding=application/x-tex>E = mc^2</annotation></semantics></math></span>, he says</p>",
        "energy is E=mc², he says",
        "energy is $E = mc^2$, he says",
    ),
    "markdown-it-texmath#20, notes-buddy#24": Part(
        "<p>so <span class=katex><span class=katex-mathml><math><semantics><mrow><mi>x</mi></mrow><annotation encoding=application/x-tex>x_1</annotation></semantics></math></span>"
        "<span class=katex-html aria-hidden=true><span class=base><span class=mord>x</span><span class=vlist>1</span></span></span></span> it is</p>",
        "so x it is",
        "so $x_1$ it is",
    ),
    "MinerU#1785": Part(
        "<span class=katex-display><span class=katex><math display=block><semantics><mrow><mi>a</mi><mo>=</mo><mi>b</mi></mrow>"
        "<annotation encoding=application/x-tex>a = b \\\\ c_*</annotation></semantics></math></span></span>",
        "a=b",
        "$$a = b \\\\ c_*$$",
    ),
    "trafilatura#158, mwoffliner#164": Part(
        "<p>where <span class=mwe-math-element><span class='mwe-math-mathml-inline mwe-math-mathml-a11y' style='display: none;'>"
        "<math alttext='{\\displaystyle E_{n}()}'><semantics><mrow><msub><mi>E</mi><mi>n</mi></msub><mo>(</mo><mo>)</mo></mrow>"
        "<annotation encoding=application/x-tex>{\\displaystyle E_{n}()}</annotation></semantics></math></span>"
        "<img src=/e.svg class=mwe-math-fallback-image-inline alt='{\\displaystyle E_{n}()}'></span> is the integral</p>",
        "where En() is the integral",
        "where ${\\displaystyle E_{n}()}$ is the integral",
    ),
    "docling#1404": Part(
        "<p>the root <mjx-container class=MathJax><mjx-math aria-hidden=true><mjx-mi><mjx-c class=c3></mjx-c></mjx-mi></mjx-math>"
        "<mjx-assistive-mml><math><msqrt><mn>3</mn></msqrt></math></mjx-assistive-mml></mjx-container> of it</p>",
        "the root 3 of it",
        "the root 3 of it",
    ),
    "pandoc#4877, turndown#260": Part(
        '<p>in <script type="math/tex">\\mathcal{D}_1 < 2</script> and'
        '<script type="math/tex; mode=display">\\min_{\\beta}</script></p>',
        "in \\mathcal{D}_1 < 2 and\n\\min_{\\beta}",
        "in $\\mathcal{D}_1 < 2$ and\n\n$$\\min_{\\beta}$$",
    ),
    "kouhai-bot#88, copy-as-markdown#19": Part(
        "<p>all <span class=MathJax_Preview>n</span><span class=MathJax id=MathJax-Element-1-Frame><nobr aria-hidden=true><span class=math>n</span></nobr>"
        '<span class=MJX_Assistive_MathML role=presentation><math><mi>n</mi></math></span></span><script type="math/tex">n</script> of them</p>',
        "all n of them",
        "all $n$ of them",
    ),
    # Shadow trees.
    "servo#36100": Part(
        "<my-card><template shadowrootmode=open><style>p{}</style><p>Before the light content, as the shadow tree says.</p><slot></slot>"
        "<p>After the light content, as the shadow tree says.</p></template><p>The light content is in the middle of them.</p></my-card>",
        "Before the light content, as the shadow tree says.\nThe light content is in the middle of them.\n"
        "After the light content, as the shadow tree says.",
    ),
    "whatwg/html#5465": Part(
        "<my-card><template shadowrootmode=closed><h3><slot name=title>No title</slot></h3><p><slot>Nobody fills the unnamed slot of the card.</slot></p></template>"
        "<span slot=title>A title</span><p slot=other>No slot displays this sentence of the card.</p></my-card>"
        "<template><p>A template displays nothing.</p></template>",
        "A title\nNobody fills the unnamed slot of the card.",
    ),
}


@pytest.mark.parametrize("report", PARTS)
def test_part_of_a_report_is_read(report: str) -> None:
    part = PARTS[report]
    parsed = read_article(part.markup)
    assert part_of(parsed.text) == part.text
    if part.markdown:
        assert part_of(parsed.markdown) == part.markdown


def linked_data(author: str) -> str:
    return f'<script type="application/ld+json">{{"@type":"Article","author":{author}}}</script>'


FIELDS: dict[str, tuple[str, str, object]] = {
    "trafilatura#296": (
        linked_data('{"@type":"Person","name":{"@type":"Person","name":"John Smiths"}}'),
        "author",
        "John Smiths",
    ),
    "trafilatura#362": (
        linked_data('{"@type":"Person","givenName":"Ada","familyName":"King"}'),
        "author",
        "Ada King",
    ),
    "extruct#53, #198": (
        linked_data('{"name":"Conan O&#8217;Brien &amp;amp; Co"}'),
        "author",
        "Conan O’Brien & Co",
    ),
    "extruct#45": (linked_data('"Kim"').replace('">{', '"><!-- a comment -->\n{'), "author", "Kim"),
    "metascraper#347, newspaper#661": (
        "<meta name=authors content='Erin Banco'>",
        "author",
        "Erin Banco",
    ),
    "scholia#1393": (
        "<meta name=DC.Creator.PersonalName content=''><meta name=DC.Creator.PersonalName content='Finn Å'>",
        "author",
        "Finn Å",
    ),
    "metascraper#408": ("<p class=byline>February 25, 2021</p>", "author", ""),
    "newspaper4k#326": ("<meta name=author content='https://www.facebook.com/abc'>", "author", ""),
    "readability#400, #164, #295": (
        "<title>A Message, More If Necessary: Army Chief</title>",
        "title",
        "A Message, More If Necessary: Army Chief",
    ),
    "trafilatura#183": ("<title> - Home</title>", "title", "- Home"),
    "metascraper#649": (
        "<meta property=article:modified_time content='Fri, 07/14/2023 - 10:30'>",
        "modified_at",
        1689330600.0,
    ),
    "metascraper#649, ambiguous": (
        "<meta property=article:published_time content='Tue, 07/11/2023 - 17:57'>",
        "published_at",
        0.0,
    ),
    "metascraper#649, one month has the weekday": (
        "<meta property=article:published_time content='Wed, 03/08/2023 - 17:57'>",
        "published_at",
        1678298220.0,
    ),
    "newspaper#151": (
        "<meta itemprop=datepublished content='2015-06-09T17:02:00Z'>",
        "published_at",
        1433869320.0,
    ),
    "GoOse#7": (
        "<time class=articlepublishdate datetime=2015-09-04 itemprop=datePublished>4 September</time>",
        "published_at",
        1441324800.0,
    ),
    "htmldate#154": (
        linked_data(
            '"x","dateCreated":"2020-12-22T01:06:41.361Z","datePublished":"2020-12-23T15:42:33.814Z"'
        ),
        "published_at",
        1608738153.0,
    ),
}


@pytest.mark.parametrize("report", FIELDS)
def test_field_of_a_report_is_read(report: str) -> None:
    head, field, value = FIELDS[report]
    parsed = read(f"<!DOCTYPE html>{head}<body><article>{BEFORE}{AFTER}</article>")
    assert getattr(parsed, field) == value


CYRILLIC = "Паром не ходит зимой, потому что река замёрзла."
OCTETS: dict[str, tuple[bytes, str]] = {
    "obscura#565": (
        f"<meta name=description content='charset=gbk'><meta data-charset=gbk><p>{CYRILLIC}".encode(),
        CYRILLIC,
    ),
    "fetch-charset-detection#301": (
        "<meta http-equiv=Content-Type content='text/html; charset=visual'><p>המעבורת אינה פועלת בחורף".encode(
            "iso-8859-8"
        ),
        "המעבורת אינה פועלת בחורף",
    ),
    "grobian/html2text#23": (
        b"<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'/><p>"
        + CYRILLIC.encode("koi8-r"),
        CYRILLIC,
    ),
    "grab#176": (b"<meta charset=windows-1251><p>" + CYRILLIC.encode("cp1251"), CYRILLIC),
    "myhtml#89": (b"<meta charset='cp1251'><p>" + CYRILLIC.encode("cp1251"), CYRILLIC),
    "Alir3z4/html2text#438": (
        b"<meta http-equiv='Content-Type' content='text/html; charset=GB18030'><p>"
        + "渡船冬天不开。".encode("gb18030"),
        "渡船冬天不开。",
    ),
    "firecrawl#4047": (
        b"<!-- <meta charset=gbk> --><meta charset=shift_jis><p>"
        + "渡し船は冬に動かない。".encode("shift_jis"),
        "渡し船は冬に動かない。",
    ),
    "compact_enc_det#20, langextract#234": (
        "<p>›› the café in the naïve town".encode(),
        "›› the café in the naïve town",
    ),
    "tika#338": ("\ufeff<meta charset=windows-1252><p>caf\u00e9".encode(), "café"),
    "tidy-html5#863": (
        b"<meta charset=iso-8859-1><p>the \x93caf\xe9\x94 \x96 open",
        "the “café” – open",
    ),
}


@pytest.mark.parametrize("report", OCTETS)
def test_characters_of_a_report_are_read(report: str) -> None:
    octets, text = OCTETS[report]
    assert read(octets, HTML).text == text


@pytest.mark.parametrize(("tag", "language"), [("ja_JP", "ja"), ("en_GB", "en")])
def test_language_tag_with_an_underscore_is_read(tag: str, language: str) -> None:
    """NodeBB/NodeBB#3499, Tokyo-Metro-Gov/covid19#723: `_` in place of `-`."""
    assert read(f"<html lang={tag}><p>OK").language == language


def test_text_file_is_no_markup() -> None:
    """changedetection.io#3483, #3458, #391: references, lines and `<` of a text file."""
    text = "if a &amp; b > c && d <e>:\n  go to the ferry\n\n\tand cross"
    assert read(text, ("Content-Type", "text/plain")).text == text
