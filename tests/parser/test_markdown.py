"""Markdown of main texts: code, links, lists, tables and titles survive.

Documentation is judged by the Markdown that it was made from: MkDocs makes pages, and the pages
must give the code and the headings of their sources.
"""

# ruff: noqa: E501 (markup in one line)
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response

MANUAL = Path(__file__).parent / "manual"
"""A manual in Markdown, from which MkDocs makes pages."""
ARTICLE = "".join(
    f"<p>In chapter {number} the keeper of the ferry writes down what the river did in the night, "
    "and who crossed it without a light.</p>"
    for number in range(6)
)


def read_article(inner: str, url: str = "https://docs.example.org/guide/page.html") -> PageParsed:
    body = f"<body><article><h1>The ferry</h1>{ARTICLE}{inner}{ARTICLE}</article>"
    return read(f"<!DOCTYPE html><title>Ferry</title>{body}", url)


def read(html: str, url: str = "https://docs.example.org/guide/page.html") -> PageParsed:
    headers = ("Content-Type", "text/html; charset=utf-8")
    return parse(
        page_response(html.encode(), headers, url=url), replace(OPTIONS, markdown=True), NOW
    )


def markdown_of(inner: str) -> str:
    return read_article(inner).markdown or ""


def fences_of(markdown: str) -> list[tuple[str, list[str]]]:
    """Return the language and the lines of each fenced block, without the indent of its list."""
    found, lines = [], iter(markdown.split("\n"))
    for line in lines:
        start = re.match(r"((?:[ >]|\d+\. |- )*)(`{3,})(\S*)", line)
        if not start:
            continue
        indent, fence, language = start.groups()
        code: list[str] = []
        for one in lines:
            inner = one[len(indent) :] if len(one) >= len(indent) else ""
            if inner == fence:
                break
            code.append(inner)
        found.append((language, code))
    return found


def headings_of(markdown: str) -> list[str]:
    plain = re.sub(r"^( *)(`{3,}).*?^\1\2$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ .*", plain, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PageParsed]:
    """The pages of the manual, read."""
    site = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(MANUAL / "mkdocs.yml")]
    subprocess.run([*command, "-d", str(site)], check=True, capture_output=True, timeout=100)
    root = "https://docs.example.org"
    return {
        "index": read((site / "index.html").read_text(), f"{root}/"),
        "timetable": read((site / "timetable" / "index.html").read_text(), f"{root}/timetable/"),
    }


@pytest.mark.parametrize("name", ["index", "timetable"])
def test_code_and_headings_of_manual_are_those_of_its_source(
    manual: dict[str, PageParsed], name: str
) -> None:
    """adbar/trafilatura#553 and its kind: listings with line numbers are tables."""
    source, page = (MANUAL / "docs" / f"{name}.md").read_text(), manual[name]
    assert fences_of(page.markdown or "") == [
        (language, code) for language, code in fences_of(source)
    ]
    assert headings_of(page.markdown or "") == headings_of(source)
    titles = [heading.text for heading in page.headings if heading.weight > 1]
    assert titles == [re.sub(r"^#+ |`", "", line) for line in headings_of(source)]


def test_manual_keeps_what_surrounds_its_code(manual: dict[str, PageParsed]) -> None:
    markdown = manual["index"].markdown or ""
    for part in (
        "![The ferry at the pier](https://docs.example.org/ferry.png) leaves every hour",
        "[timetable](https://docs.example.org/timetable/#summer)",
        "**pip**\n\n```bash\npip install ferry\n```\n\n**uv**\n",
        "> **Low water**\n>\n> The ferry does not run",
        "> Nobody has ever missed the last ferry twice",
        "1. Go to the pier.\n   - Look at the sign.\n   - Ring the bell:\n\n     ```sh\n",
        "| `*` | any | [all](https://docs.example.org/timetable/) |",
        "- [x] The bell is repaired.\n- [ ] The sign is painted.",
    ):
        assert part in markdown, markdown
    assert "¶" not in markdown and "Permanent link" not in markdown


CODE = 'def main():\n\n    if x < 1:\n        return "a"\n'
ESCAPED = CODE.replace("<", "&lt;")
NUMBERS = "\n".join("12345"[: CODE.count("\n")])
LISTINGS = {
    "Pygments, table": (
        '<div class="language-python highlight"><table class="highlighttable"><tr><td class="linenos">'
        f'<div class="linenodiv"><pre>{NUMBERS}</pre></div></td><td class="code"><div><pre><code>'
        f"{ESCAPED}</code></pre></div></td></tr></table></div>"
    ),
    "Pygments, inline": '<div class="highlight-python notranslate"><div class="highlight"><pre>'
    + "".join(
        f'<span class="linenos">{number}</span>{line}\n'
        for number, line in enumerate(ESCAPED.rstrip().split("\n"), 1)
    )
    + "</pre></div></div>",
    "Chroma": (
        '<div class="highlight"><table class="lntable"><tr><td class="lntd"><pre class="chroma"><code>'
        + "".join(f'<span class="lnt">{n}\n</span>' for n in range(1, 5))
        + f'</code></pre></td><td class="lntd"><pre class="chroma"><code class="language-python">{ESCAPED}'
        "</code></pre></td></tr></table></div>"
    ),
    "GitHub": '<div class="highlight highlight-source-python"><table class="highlight">'
    + "".join(
        f'<tr><td class="blob-num" data-line-number="{number}"></td>'
        f'<td class="blob-code blob-code-inner">{line}</td></tr>'
        for number, line in enumerate(ESCAPED.rstrip().split("\n"), 1)
    )
    + "</table></div>",
    "Rouge": (
        '<div class="language-python highlighter-rouge"><div class="highlight"><pre><code>'
        f'<table class="rouge-table"><tr><td class="rouge-gutter gl"><pre class="lineno">{NUMBERS}</pre>'
        f'</td><td class="rouge-code"><pre>{ESCAPED}</pre></td></tr></table></code></pre></div></div>'
    ),
    "rustdoc": '<pre class="python"><code class="language-python">'
    + "\n".join(
        f'<a href="#{number}" id="{number}" data-nosnippet>{number}</a>{line}'
        for number, line in enumerate(ESCAPED.rstrip().split("\n"), 1)
    )
    + "</code></pre>",
    "Docusaurus": '<div class="language-python codeBlockContainer_x"><pre tabindex="0"><code>'
    + "".join(
        f'<span class="token-line">{line}<br></span>' for line in ESCAPED.rstrip().split("\n")
    )
    + "</code></pre><button>Copy</button></div>",
    "lines as elements": '<pre class="sourceCode python">'
    + "".join(f"<div>{line or '<br>'}</div>" for line in ESCAPED.rstrip().split("\n"))
    + "</pre>",
    "Pygments, table with the name of a file": (
        '<div class="language-python highlight"><table class="highlighttable"><tr><th colspan="2" '
        'class="filename"><span class="filename">ferry.py</span></th></tr><tr><td class="linenos">'
        f'<div class="linenodiv"><pre>{NUMBERS}</pre></div></td><td class="code"><div><pre><code>'
        f"{ESCAPED}</code></pre></div></td></tr></table></div>"
    ),
    "Chroma, styles": '<div class="highlight"><pre tabindex="0"><code class="language-python">'
    + "".join(
        '<span style="display:flex;"><span style="white-space:pre;-webkit-user-select:none;'
        f'user-select:none;margin-right:0.4em">{number}</span><span>{line}\n</span></span>'
        for number, line in enumerate(ESCAPED.rstrip().split("\n"), 1)
    )
    + "</code></pre></div>",
    "rustdoc, column": '<div class="example-wrap"><div data-nosnippet><pre class="src-line-numbers">'
    + "\n".join(f'<a href="#{number}" id="{number}">{number}</a>' for number in range(1, 5))
    + f'</pre></div><pre class="language-python"><code>{ESCAPED}</code></pre></div>',
    "Prism": '<div class="code-toolbar"><pre class="language-python line-numbers"><code '
    f'class="language-python">{ESCAPED}<span aria-hidden="true" class="line-numbers-rows">'
    '<span></span><span></span></span></code></pre><div class="toolbar"><div class="toolbar-item">'
    "<button>Copy</button></div></div></div>",
    "Doxygen": '<div class="highlight-python"><div class="fragment">'
    + "".join(
        f'<div class="line"><a id="l{number}"></a><span class="lineno">    {number}</span>{line or " "}</div>'
        for number, line in enumerate(ESCAPED.rstrip().split("\n"), 1)
    )
    + '<div class="ttc"><div class="ttname">main</div></div></div></div>',
    "highlight.js, language first": f'<pre><code class="python hljs">{ESCAPED}</code></pre>',
    "twoslash": '<pre class="shiki twoslash"><div class="language-id">python</div><div class='
    + "code-container><code>"
    + "".join(f"<div class='line'>{line or ' '}</div>" for line in ESCAPED.rstrip().split("\n"))
    + "</code><a class='playground-link' href=/play>Try</a></div></pre>",
    "Gatsby": f'<pre class="gatsby-code-python"><code>{ESCAPED}</code></pre>',
    "DokuWiki": f'<pre class="code python">{ESCAPED}</pre>',
    "MediaWiki": f'<div class="mw-highlight mw-highlight-lang-python"><pre>{ESCAPED}</pre></div>',
    "Hexo": '<figure class="highlight python"><table><tr><td class="gutter"><pre>'
    + "".join(f'<span class="line">{number}</span><br>' for number in range(1, 5))
    + '</pre></td><td class="code"><pre>'
    + "".join(f'<span class="line">{line}</span><br>' for line in ESCAPED.rstrip().split("\n"))
    + "</pre></td></tr></table></figure>",
    "data-lang": f'<pre data-lang="Python"><code>{ESCAPED}</code></pre>',
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_listing_keeps_its_lines_and_language(listing: str) -> None:
    """unclecode/crawl4ai#2110, adbar/trafilatura#553: lines and blanks of code."""
    assert fences_of(markdown_of(listing)) == [("python", CODE.rstrip().split("\n"))]


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<p>See <a href='../a b.html#x'>the <b>rules</b></a>.", "See [the **rules**](https://docs.example.org/a%20b.html#x)."),
        ("<p><a href='javascript:x()'>Do</a> it at the pier today, or <a href='mailto:a@b.org'>write</a>.", "Do it at the pier today, or [write](mailto:a@b.org)."),
        ("<p>A <img src=/p.png alt='red [pier]'> there.", "A ![red [pier]](https://docs.example.org/p.png) there."),
        ("<p>Two <b> bold </b>words, <em>one</em> <code>a`b</code>.", "Two **bold** words, *one* ``a`b``."),
        ("<p>snake_case, 2 * 3, [1], &lt;b&gt; and C:\\dir\\*", "snake_case, 2 \\* 3, [1], \\<b> and C:\\dir\\\\\\*"),
        ("<p>The method __init__ of a_b, _c and __d", "The method \\_\\_init\\_\\_ of a_b, \\_c and \\_\\_d"),
        ("<h2>1. First</h2><p>Words of it.", "## 1. First\n\nWords of it."),
        ("<h2>\u200b<a href='#x'>First</a></h2><p>Words of it.", "## First\n\nWords of it."),
        ("<dl><dt>- all</dt><dd>Words of it.</dl>", "**- all**\n\nWords of it."),
        ("<p>Press <kbd>A</kbd><kbd>B</kbd> now", "Press `A` `B` now"),
        ("<h2><a class=toc-backref href='#id1'>A title</a><a class=headerlink href='#a'>¶</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<p>Verses:</p><div class=line-block><div class=line>One</div><div class=line>Two</div></div>", "Verses:\n\nOne  \nTwo"),
        ("<p># 1 of them</p><p>3. May 1912</p><p>- a dash", "\\# 1 of them\n\n3\\. May 1912\n\n\\- a dash"),
        ("<p>One line<br>and another", "One line  \nand another"),
        ("<blockquote><p>One</p><blockquote><p>Two</p></blockquote></blockquote>", "> One\n>\n> > Two"),
        ("<ol start=9><li>nine<ul><li>in it</ul><li>ten<p>more</p></ol>", "9. nine\n   - in it\n10. ten\n\n    more"),
        ("<ul><li>one<ul><li>two<ul><li>three</ul></ul></ul>", "- one\n  - two\n    - three"),
        ("<table><tr><th>a|b<th>c<tr><td rowspan=2>1<td><code>x|y</code><tr><td>3</table>",
         "| a\\|b | c |\n| --- | --- |\n| 1 | `x\\|y` |\n|  | 3 |"),
        ("<table><tr><td>Mon<td><ul><li>10 to 12<li>14 to 16</ul><tr><td>Sun<td>closed</table>",
         "|  |  |\n| --- | --- |\n| Mon | 10 to 12<br>14 to 16 |\n| Sun | closed |"),
        ("<h2>A title<a class=headerlink href='#a' title='Permanent link'>¶</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<h2><a class=header href='#a'>A title</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<h2><a class=anchor aria-hidden=true href='#a'><svg></svg></a>A title</h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<h2 id=a>A title<a class=hash-link aria-label='Direct link' href='#a'>Direct link</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<div class='admonition note'><p class=admonition-title>Note</p><p>Words of it.</div>", "> **Note**\n>\n> Words of it."),
        ("<h2><a class=anchor href='#a'></a><a class=link href='#a'>A title</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<h2>A title<span class=mw-editsection>[<a href='/w?action=edit'>edit</a>]</span></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<h2>A title <a class=header-anchor href='#a' aria-label='Permalink'>&#8203;</a></h2><p>Words of it.", "## A title\n\nWords of it."),
        ("<div class='tip custom-block'><p class=custom-block-title>TIP</p><p>Words of it.</div>", "> **TIP**\n>\n> Words of it."),
        ("<div class='theme-admonition theme-admonition-note'><div class=admonitionHeading_Gvgb><span><svg></svg></span>note</div><div class=admonitionContent_BuS1><p>Words of it.</div></div>", "> **note**\n>\n> Words of it."),
        ("<div class='admonitionblock note'><table><tr><td class=icon><i class='fa icon-note' title=Note></i><td class=content>Words of it.</table></div>", "> **Note**\n>\n> Words of it."),
        ("<div class='callout callout-note'><div class=callout-header><div class='callout-title-container flex-fill'>Note</div></div><div class=callout-body><p>Words of it.</div></div>", "> **Note**\n>\n> Words of it."),
        ("<div class=codeBlockTitle_Ktv7>ferry.js</div><pre><code class=language-js>row()</code></pre>", "**ferry.js**\n\n```js\nrow()\n```"),
        ("<div class='highlight'><span class=filename>ferry.js</span><pre><code class=language-js>row()</code></pre></div>", "**ferry.js**\n\n```js\nrow()\n```"),
        ("<div class=listingblock><div class=title>ferry.js</div><div class=content><pre><code data-lang=js>row()</code></pre></div></div>", "**ferry.js**\n\n```js\nrow()\n```"),
        ("<div class=member-signature><span>public</span>&nbsp;<span>char</span>&nbsp;charAt<wbr>(int&nbsp;index)</div><pre>x</pre>", "```\npublic char charAt(int index)\n```\n\n```\nx\n```"),
        ("<pre>x</pre><div class='summary-table two-column-summary'><div class='table-header col-first'>Type</div><div class='table-header col-last'>Method</div>"
         "<div class=col-first><code>char</code></div><div class=col-last><code>charAt</code></div></div>",
         "```\nx\n```\n\n| Type | Method |\n| --- | --- |\n| `char` | `charAt` |"),
    ],
)  # fmt: skip
def test_element_as_markdown(inner: str, expected: str) -> None:
    assert f"\n\n{expected}\n\n" in markdown_of(f"<div>{inner}</div>")


TABS = {
    "Docusaurus": "<ul role=tablist><li role=tab>npm<li role=tab>Yarn</ul><div><div role=tabpanel><p>First."
    "</div><div role=tabpanel hidden><p>Second.</div></div>",
    "Starlight": "<ul role=tablist><li role=presentation><a role=tab href='#1'>npm</a><li><a role=tab>Yarn</a>"
    "</ul></div><div role=tabpanel><p>First.</div><div role=tabpanel hidden><p>Second.</div>",
    "sphinx-tabs": "<div class=sphinx-tabs><div role=tablist><button role=tab>npm</button><button role=tab>"
    "Yarn</button></div><div role=tabpanel><p>First.</div><div role=tabpanel hidden=true><p>Second.</div></div>",
    "sphinx-design": "<div class=sd-tab-set><input type=radio><label>npm</label><div><p>First.</div>"
    "<input type=radio><label>Yarn</label><div><p>Second.</div></div>",
    "pymdown": "<div class='tabbed-set tabbed-alternate'><input type=radio><input type=radio><div class="
    "tabbed-labels><label>npm</label><label>Yarn</label></div><div class=tabbed-content><div><p>First.</div>"
    "<div><p>Second.</div></div></div>",
    "VitePress": "<div class=vp-code-group><div class=tabs><input type=radio><label>npm</label><input type="
    "radio><label>Yarn</label></div><div class=blocks><div><p>First.</div><div><p>Second.</div></div></div>",
    "Asciidoctor": "<div class='openblock tabs'><div class=content><div class='ulist tablist'><ul><li><p>npm"
    "<li><p>Yarn</ul></div><div class=tabpanel><p>First.</div><div class=tabpanel><p>Second.</div></div></div>",
    "mdbook-tabs": "<div class=mdbook-tabs-container><nav class=mdbook-tabs><button class=mdbook-tab>npm</button>"
    "<button class=mdbook-tab>Yarn</button></nav><div class=mdbook-tab-content><p>First.</p></div>"
    "<div class='mdbook-tab-content hidden'><p>Second.</p></div></div>",
    "Hugo Relearn": "<div class=tab-panel><div class=tab-nav><button class=tab-nav-button>npm</button><button "
    "class=tab-nav-button>Yarn</button></div><div class=tab-content-container><div class=tab-content><p>First."
    "</div><div class=tab-content><p>Second.</div></div></div>",
    "Hextra": "<div class=hextra-scrollbar><div><button role=tab>npm</button><button role=tab>Yarn</button></div>"
    "</div><div><div role=tabpanel><p>First.</div><div role=tabpanel><p>Second.</div></div>",
    "Bootstrap": "<ul class='nav nav-tabs'><li><a data-toggle=tab href='#1'>npm</a><li><a data-toggle=tab href='#2'>"
    "Yarn</a></ul><div class=tab-content><div class=tab-pane><p>First.</div><div class=tab-pane><p>Second.</div></div>",
    "Docsy": "<ul class='nav nav-tabs' role=tablist><li class=nav-item><button role=tab>npm</button><li><button "
    "role=tab>Yarn</button></ul><div class=tab-content><div class='tab-pane active' role=tabpanel><p>First.</div>"
    "<div class='tab-body tab-pane' role=tabpanel><p>Second.</div></div>",
}


@pytest.mark.parametrize("tabs", TABS.values(), ids=TABS)
def test_label_is_before_its_tab_and_no_tab_is_hidden(tabs: str) -> None:
    parsed = read_article(f"<div>{tabs}</div>")
    assert "\n\n**npm**\n\nFirst.\n\n**Yarn**\n\nSecond.\n\n" in (parsed.markdown or "")
    assert "npm\nFirst.\nYarn\nSecond." in (parsed.text or "")


def test_label_of_the_only_tab_that_is_written_is_kept() -> None:
    """VitePress and Docusaurus write the chosen tab alone if they are told so."""
    tabs = (
        "<div role=tablist><button role=tab aria-controls=1>npm</button><button role=tab "
        "aria-controls=2>Yarn</button></div><div role=tabpanel id=2><p>Second.</div>"
    )
    assert "\n\n**Yarn**\n\nSecond.\n\n" in markdown_of(f"<div>{tabs}</div>")
    unnamed = tabs.replace(" id=2", "")
    assert "**" not in markdown_of(f"<div>{unnamed}</div>")


@pytest.mark.parametrize("groups", [2, 3])
def test_tabs_of_several_lists_are_not_mixed(groups: int) -> None:
    inner = "".join(TABS["Hextra"].replace(".", f" {number}.") for number in range(groups))
    markdown = markdown_of(f"<div>{inner}</div>")
    for number in range(groups):
        assert f"**npm**\n\nFirst {number}.\n\n**Yarn**\n\nSecond {number}." in markdown


@pytest.mark.parametrize("name", ["Asciidoctor", "mdbook-tabs", "pymdown", "Hugo Relearn"])
def test_tabs_within_the_first_tab_are_not_mixed(name: str) -> None:
    outer = TABS[name].replace("npm", "Linux").replace("Yarn", "Windows").replace("Sec", "A sec")
    markdown = markdown_of(f"<div>{outer.replace('<p>First.', TABS[name])}</div>")
    inner = "**Linux**\n\n**npm**\n\nFirst.\n\n**Yarn**\n\nSecond.\n\n**Windows**\n\nA second."
    assert inner in markdown


def test_tabs_within_a_tab_keep_their_labels() -> None:
    inner = "<div><ul role=tablist><li role=tab>{}</ul><div role=tabpanel hidden>{}</div></div>"
    markdown = markdown_of(inner.format("Linux", inner.format("Fedora", "<p>Row now.")))
    assert "**Linux**\n\n**Fedora**\n\nRow now." in markdown


@pytest.mark.parametrize(
    "table",
    [
        "<table><tr><th>code<th>meaning<tr><td>1<td><code>fail</code><tr><td>2<td><code>skip</code></table>",
        "<table><tr><td>1<td>first<tr><td>2<td>second</table>",
    ],
)
def test_table_of_numbers_is_not_code(table: str) -> None:
    assert "```" not in markdown_of(table) and "| 2 | " in markdown_of(table)


def test_code_that_contains_a_fence_has_a_longer_one() -> None:
    assert "````\n```sh\nls\n```\n````" in markdown_of("<pre>```sh\nls\n```</pre>")


@pytest.mark.parametrize("markup", ["<p>{}</p>", "<figure>{}</figure>", "<div>{}</div>"])
def test_image_of_its_own_is_in_markdown_and_leaves_the_text(markup: str) -> None:
    image = markup.format("<img src=/pier.png alt='The pier'>")
    beside = (
        "<div><p>Words about other things that are behind the end of the article here.</p></div>"
    )
    parsed = read_article(image)
    assert "\n\n![The pier](https://docs.example.org/pier.png)\n\n" in (parsed.markdown or "")
    html = f"<!DOCTYPE html><title>Ferry</title><article>{ARTICLE}{image}</article>{beside}{image}"
    plain = parse(page_response(html.encode()), OPTIONS, NOW)
    assert read(html).text == plain.text


def test_urls_of_markdown_are_limited() -> None:
    base = f"https://docs.example.org/{'x' * 1900}/page.html"
    links = "".join(
        f"<p>Word {number} of a long text <a href={number}>here</a>." for number in range(2000)
    )
    parsed = read(f"<article>{ARTICLE}{links}</article>", base)
    assert len(parsed.markdown or "") < 700_000
    assert "Word 1999 of a long text here." in (parsed.markdown or "")


def test_page_of_a_manual_is_text_from_its_title_to_its_last_list_of_links() -> None:
    """The kind of adbar/trafilatura#147: a heading before links at the end of a page."""
    link = "<a class=headerlink href='#x'>¶</a>"
    body = (
        f"<nav><ul><li><a href=/>Home</a></ul></nav><main><h1>The ferry{link}</h1>"
        f"{ARTICLE}<h2>History{link}</h2><ul><li><a href=1>First note</a><li><a href=2>Second note</a>"
        "</ul></main><footer><a href=/>All pages</a></footer>"
    )
    markdown = read(f"<!DOCTYPE html><title>Ferry</title><body>{body}").markdown or ""
    assert markdown.startswith("# The ferry\n\n")
    assert markdown.endswith(
        "## History\n\n- [First note](https://docs.example.org/guide/1)\n"
        "- [Second note](https://docs.example.org/guide/2)"
    )
