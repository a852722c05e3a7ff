"""The main text has every part that readers see between its paragraphs, and nothing beside it."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.services.parser.html.content import read_blocks
from gossamer.services.parser.html.document import read_document
from gossamer.services.parser.html.main import choose_blocks, join_lines
from gossamer.services.parser.links import Resolver
from gossamer.text.blocks import fold_whitespace
from tests.parser.pages import OPTIONS, URL, parse_response

PARAGRAPHS = "".join(
    f"<p>The council of the small town met on the second floor, and spoke about bridge {number}, "
    "which had been closed since the flood of the spring, because nobody had the money.</p>"
    for number in range(6)
)
SENTENCE = (
    "The opening hours of the new ferry were published yesterday and will hold until the end of "
    "the summer, as the town said."
)


def page_text(body: str, head: str = "") -> str:
    """Return the text of a page about a bridge."""
    return parse_response(f"<!DOCTYPE html><title>Bridge</title>{head}{body}").text or ""


def text_of(inner: str, element: str = "article") -> str:
    body = f"<{element}><h1>Bridge</h1>{PARAGRAPHS}{inner}{PARAGRAPHS}"
    parsed = parse_response(f"<!DOCTYPE html><title>Bridge</title><body>{body}")
    assert parsed.text_kind == "main"
    return parsed.text or ""


@pytest.mark.parametrize(
    "markup",
    [
        "<div>{}</div>",
        "<div>Foo<br>{}<br>bar</div>",
        "<section>{}</section>",
        "<section><div><span>{}</span></div></section>",
        "<figure><img src=x><figcaption>{}</figcaption></figure>",
        "<table><tr><td>x<td>y<tr><td>x<td><ul><li>{}</ul></table>",
        "<table><tr><td>x<td>y<tr><td>x<td><blockquote><p>{}</p></blockquote></table>",
        "<table><caption>{}</caption><tr><td>x<td>y</table>",
        "<ul><li>{}</ul>",
        "<ol><li>{}</ol>",
        "<dl><dt>x<dd>{}</dl>",
        "<h2>{}</h2>",
        "<pre>{}</pre>",
        "<details><summary>More</summary><div>{}</div></details>",
        "<address>{}</address>",
        "<fieldset><legend>x</legend>{}</fieldset>",
        "<p><time>1912</time> {}</p>",
    ],
)
@pytest.mark.parametrize("element", ["article", "main", "div"])
def test_sentence_between_paragraphs_is_main_text(markup: str, element: str) -> None:
    """adbar/trafilatura#622, #531, #335, #233, #354, #147: parts of the text are lost."""
    text = text_of(markup.format(SENTENCE), element)
    assert text.count(SENTENCE) == 1


@pytest.mark.parametrize(
    "part",
    [
        "<time>1912</time>, {}",
        "<label>Note</label> {}",
        "{} <output>12</output> of them",
        "<meter>5</meter> {}",
        "{} <math><mi>x</mi></math>",
    ],
)
def test_last_paragraph_with_a_part_that_the_extractor_drops_is_main_text(part: str) -> None:
    body = f"<article><h1>Bridge</h1>{PARAGRAPHS}<p>{part.format(SENTENCE)}</p></article>"
    assert SENTENCE in page_text(body)


def test_readings_of_all_words_are_main_text() -> None:
    words = (
        "<ruby>東京<rt>とうきょう</rt></ruby>の"
        "<ruby>動物園<rp>(</rp><rt>どうぶつえん</rt><rp>)</rp></ruby>です。"
    )
    body = "".join(f"<p>{number}{words * 8}</p>" for number in range(8))
    parsed = parse_response(f"<!DOCTYPE html><meta charset=utf-8><article>{body}</article>")
    assert parsed.text_kind == "main"
    assert (parsed.text or "").count("東京(とうきょう)の動物園(どうぶつえん)です。") == 64


@pytest.mark.parametrize(
    "markup",
    [
        # adbar/trafilatura#233, #354, #147: elements directly in body.
        *("<ul><li>{}</ul>", "<dl><dt>x<dd>{}</dl>", "<h2>{}</h2>", "<div>{}</div>"),
        # BEM's modifiers, the tags of an entry of WordPress, and any element of Elementor.
        "<div class='section section--banner'><div>{}</div></div>",
        "<div class='post-117 status-publish hentry tag-bridges'><div>{}</div></div>",
        "<div class='elementor-widget elementor-widget-text-editor'><div>{}</div></div>",
    ],
)
def test_sentence_in_body_is_main_text(markup: str) -> None:
    body = f"<body><h1>Bridge</h1>{PARAGRAPHS}{markup.format(SENTENCE)}{PARAGRAPHS}"
    assert SENTENCE in page_text(body)


def test_hours_in_lists_of_cells_are_main_text() -> None:
    """adbar/trafilatura#531: opening hours are a list in a cell."""
    text = text_of(
        "<table><tr><td>Monday<td><ul><li>10:00 to 20:00</ul>"
        "<tr><td>Sunday<td><ul><li>closed</ul></table>"
    )
    assert "Monday | 10:00 to 20:00\nSunday | closed" in text


@pytest.mark.parametrize(
    "markup",
    [
        "<nav><a href=1>One page</a> <a href=2>Other page</a></nav>",
        "<ul class=related><li><a href=1>One page</a><li><a href=2>Other page</a></ul>",
        "<div class='share-bar'>Share this One page with all of your friends in the world.</div>",
        "<aside><p>One page that many people read, and a good one for an evening.</aside>",
        "<div><a href=1>One page</a> <a href=2>Other page</a></div>",
        "<button>One page</button><div>One page</div>",
    ],
)
def test_parts_beside_the_text_are_not_main_text(markup: str) -> None:
    assert "One page" not in text_of(markup)


def test_names_of_wrappers_do_not_matter() -> None:
    """readthedocs/sphinx_rtd_theme: the text is in an element of the class wy-nav-content."""
    text = f"{PARAGRAPHS}<div>{SENTENCE}</div>{PARAGRAPHS}"
    body = f"<div class='wy-nav-content'><div class='sidebar-layout'>{text}"
    assert SENTENCE in page_text(f"<body>{body}")


def test_ratings_are_main_text_of_a_list_of_goods_and_not_of_an_article() -> None:
    card = "<div><h3>Bridge</h3><div class=rating>4.5 stars of 5 by 900 readers.</div></div>"
    body = f"<title>Bridges</title><main><h1>Bridges</h1>{PARAGRAPHS}{card}{PARAGRAPHS}</main>"
    statement = "<meta property='og:type' content='article'>"
    assert "4.5 stars" in (parse_response(f"<!DOCTYPE html>{body}").text or "")
    assert "4.5 stars" not in (parse_response(f"<!DOCTYPE html>{statement}{body}").text or "")


def chosen_text(
    body: str, extracted: str, is_manual: bool = False, is_article: bool = False
) -> str:
    """Return the main text of *body* in which an extractor found the text *extracted*."""
    tree = LexborHTMLParser(f"<body>{body}")
    assert tree.body
    blocks = read_blocks(tree.body, Resolver(URL, "utf-8"), rich=False)
    return join_lines(choose_blocks(blocks, extracted, is_manual, False, is_article))


def test_posts_of_a_thread_are_main_text_and_comments_on_an_article_are_not() -> None:
    """Extractors take one post of a thread for its text, and all others for comments."""
    posts = [f"Post {number} says that the old bridge is safe. {SENTENCE}" for number in range(4)]
    body = "".join(f"<div><p>{post}</p></div>" for post in posts)
    assert chosen_text(body, posts[0]) == "\n".join(posts)
    assert chosen_text(body, posts[0], is_article=True) == posts[0]


def test_links_and_labels_of_a_list_of_goods_are_main_text() -> None:
    """Extractors drop cards whose names are links, and find the introduction."""
    introduction = f"All of our bridges are made of wood. {SENTENCE}"
    cards = "".join(
        f"<div><a href={number}><h3>Bridge of size {number}</h3></a><div>{number} EUR</div></div>"
        for number in range(20)
    )
    menu = "<div class=menu><a href=1>Boats</a></div>"
    body = f"<main><h1>Bridges</h1><div>{menu}<p>{introduction}</p>{cards}</div></main>"
    goods = "\n".join(f"Bridge of size {number}\n{number} EUR" for number in range(20))
    assert chosen_text(body, introduction) == f"Bridges\n{introduction}\n{goods}"
    assert chosen_text(body, introduction, is_article=True) == introduction


def test_labels_of_posts_are_not_main_text_and_short_answers_are() -> None:
    """A forum repeats the labels of its posts, with other numbers: ranks, counts, buttons."""
    answers = [f"<p>Post {number} says that the bridge is safe. {SENTENCE}" for number in range(3)]
    answers += ["<div>Same here</div>", "<div>Never on a Sunday</div>"]
    posts = [
        f"<li><dl><dt>Member</dt><dd>{number}7 posts</dd></dl><div>Reply</div>{answer}</li>"
        for number, answer in enumerate(answers)
    ]
    statement = '<script type="application/ld+json">{"@type":"DiscussionForumPosting"}</script>'
    body = f"{statement}<h1>Is the bridge safe?</h1><ul>{''.join(posts)}</ul>"
    text = page_text(body)
    assert all(one in text for one in ("Post 0", "Post 2", "Same here", "Never on a Sunday"))
    assert not any(label in text for label in ("Member", "posts", "Reply"))


@pytest.mark.parametrize("kind", ["DiscussionForumPosting", "QAPage", "BlogPosting"])
def test_comments_are_main_text_of_a_page_that_states_that_it_is_a_discussion(kind: str) -> None:
    """Invision Community: an element with the class `comments` has the answers of a thread."""
    statement = f"""<script type='application/ld+json'>{{"@type": "{kind}"}}</script>"""
    answer = f"The old bridge is safe. {SENTENCE}"
    body = f"<h1>Bridge</h1>{PARAGRAPHS}<div class='commentlist comments'><p>{answer}</p></div>"
    text = page_text(body, statement)
    assert text.count("The council of the small town") == 6
    assert (answer in text) is (kind != "BlogPosting")


def message_card(name: str, text: str) -> str:
    """A post as XenForo writes it at woodworkingtalk.com, without attributes of style and script.

    It is page 5092 of the Web Content eXtraction Benchmark.
    """
    return f"""<article class="js-post js-inlineModContainer california-nested-message">
    <div class="MessageCard js-messageCard" itemscope itemprop="comment"
     itemtype="https://schema.org/Comment"><div class="MessageCard__container">
    <header class="MessageCard__header"><div class="MessageCard__user-info" itemprop="author">
    <div class="MessageCard__name-with-attributions"><a href="/members/{name}">{name}</a></div>
    <div class="MessageCard__user-details"><span>8,475 posts</span> <span>·</span>
    <span class="MessageCard__join-date">Joined 2011</span></div></div></header>
    <span class="MessageCard__nested-postbit"><a href="/post-2">#2</a> <span>·</span>
    <a href="/post-2"><time datetime="2024-05-29T11:09:42-0400">May 29, 2024</time></a></span>
    <div class="message-cell message-info-block"><div class="message-userContent">
    <article class="message-body js-selectToQuote" itemprop="text">
    <div class="bbWrapper">{text}</div><div class="js-selectToQuoteEnd">&nbsp;</div></article>
    </div></div></div></div></article>"""


def thread_text(*posts: str) -> list[str]:
    """Return the main text of a thread if an extractor finds the first of *posts*."""
    cards = "".join(message_card(f"kim{number}", text) for number, text in enumerate(posts))
    body = (
        f"<h1>Bridge</h1><div class='block--messages'><div class='block-body'>{cards}</div></div>"
    )
    tree = LexborHTMLParser(f"<body>{body}").body
    assert tree
    found = read_blocks(tree, Resolver(URL, "utf-8"), False, is_article=False, is_thread=True)
    return join_lines(choose_blocks(found, posts[0], False, True, False)).split("\n")


POSTS = [f"Bridge {number} is closed on Sundays. {SENTENCE}" for number in range(6)]


def test_names_ranks_and_dates_of_posts_are_no_main_text_of_a_discussion() -> None:
    assert thread_text(*POSTS) == ["Bridge", *POSTS]


def test_short_post_of_a_discussion_that_states_it_is_main_text() -> None:
    """It looks like a label: neither a sentence, nor in a paragraph."""
    posts = [*POSTS[:3], "Welcome aboard, Doug!", *POSTS[3:], "you got message !"]
    assert thread_text(*posts) == ["Bridge", *posts]


@pytest.mark.parametrize(
    "statement",
    [
        "<meta property='og:type' content='article'>",
        """<script type='application/ld+json'>{"@type": ["NewsArticle"]}</script>""",
        "<div itemscope itemtype='https://schema.org/BlogPosting'></div>",
    ],
)
def test_article_states_that_it_is_one(statement: str) -> None:
    """OpenGraph, JSON-LD and microdata."""
    tree = f"<!DOCTYPE html><head><title>Bridge</title>{statement}</head><p>{SENTENCE}"
    assert read_document(tree, URL, "utf-8", OPTIONS).is_article
    assert not read_document(tree.replace(statement, ""), URL, "utf-8", OPTIONS).is_article


def test_beginning_of_a_manual_is_main_text_if_inherited_methods_are_most_of_it() -> None:
    """rustdoc: the list of the methods of a trait has nine tenths of the text."""
    lines = [
        f"Returns bridge {number} of the town, and counts its carts in a day."
        for number in range(30)
    ]
    methods = "".join(f"<h4>fn m()</h4><div>{line}</div>" for line in lines)
    own = "<h4>fn open(&self)</h4><div><p>Opens it. Nobody may be on the bridge.</p></div>"
    body = f"<main><h1>Struct Bridge</h1><p>A bridge.</p>{own}<div>{methods}</div></main>"
    assert chosen_text(body, "\n".join(lines), is_manual=True).startswith(
        "Struct Bridge\nA bridge.\nfn open(&self)\nOpens it. Nobody may be on the bridge.\nfn m()\n"
    )


def test_description_and_members_of_a_class_are_main_text() -> None:
    """Javadoc: the title is an h2, and the table of methods is links."""
    table = (
        "<table><tr><th>Method<th>Text<tr><td><a href=1>isOpen()</a><td>Nobody is on it.</table>"
    )
    detail = "".join(f"<h4>m</h4><pre>void m{number}()</pre><p>{SENTENCE}" for number in range(9))
    text = "A bridge of the town on which carts cross."
    body = f"<div><h2>Class Bridge</h2><div>{text}</div>{table}<div>{detail}</div></div>"
    found = "\n".join(f"void m{number}()\n{SENTENCE}" for number in range(9))
    assert chosen_text(body, found).startswith(
        f"Class Bridge\n{text}\nMethod | Text\nisOpen() | Nobody is on it.\nm\nvoid m0()\n"
    )


def test_first_paragraph_between_title_and_text_is_main_text() -> None:
    text = fold_whitespace(LexborHTMLParser(PARAGRAPHS).text(separator=" "))
    body = f"<main><h1>Bridge</h1><div>By Kim</div><div>{SENTENCE}</div>{PARAGRAPHS}</main>"
    assert chosen_text(body, text).startswith(f"{SENTENCE}\nThe council of the small town")


def test_formulas_beside_one_long_paragraph_are_main_text() -> None:
    """mozilla/readability, test page `mathjax`: a paragraph has nine tenths of what is found."""
    body = f"<div><p>When</p><math display=block>a = b</math><h2>Why</h2><p>{SENTENCE}</p></div>"
    assert chosen_text(body, f"When\n{SENTENCE}") == f"When\na = b\nWhy\n{SENTENCE}"


def test_paragraphs_count_if_an_extractor_finds_hardly_any_of_them() -> None:
    """adbar/trafilatura, `axios.com.future.html`: only the introduction is found."""
    introduction = "Welcome back to the newsletter of the ferry. Thanks for subscribing to it."
    stories = "".join(f"<section><h2>{name}</h2>{PARAGRAPHS}</section>" for name in ("One", "Two"))
    body = f"<nav><p>{SENTENCE}</nav><main><p>{introduction}</p>{stories}</main>"
    text = chosen_text(body, introduction)
    assert text.startswith(introduction) and text.count("The council of the small town") == 12
    assert SENTENCE not in text


def test_text_that_only_noscript_has_is_text() -> None:
    """adbar/trafilatura, `parcoabruzzo.it.58354.html`: scripts replace the whole page."""
    page = f"<body><script>var a = 1;</script><noscript><article>{PARAGRAPHS}</article></noscript>"
    text = page_text(page)
    assert text.count("The council of the small town") == 6
    notice = parse_response("<body><noscript>Please enable JavaScript.</noscript><p>Bridge").text
    assert notice == "Bridge"
