"""Documents of any length that make lexbor take quadratic time or worse."""

from collections.abc import Callable


def number_tags(tag: str, count: int) -> str:
    """Return *count* copies of *tag*, each with its own number."""
    return "".join(tag.format(number) for number in range(count))


SHAPES: dict[str, Callable[[int], str]] = {
    "elements in elements": lambda n: "<div>" * n,
    "lists in lists": lambda n: "<ul><li>" * n,
    "options": lambda n: "<select>" + "<option>" * n,
    "groups of options": lambda n: "<optgroup>" * n,
    "ruby bases": lambda n: "<rb>" * n,
    "headings and formatting": lambda n: "<h1><b>" * n,
    "links around blocks": lambda n: "<a><div>" * n,
    "end tags that end nothing": lambda n: "<span>" * n + "</x>" * n,
    "end tags of paragraphs": lambda n: "<font>" * n + "</p>" * n,
    "formatting with attributes": lambda n: number_tags("<b id={}>", n),
    "formatting with many attributes": lambda n: number_tags(
        f"<b {number_tags('c{} ', 20)} a={{}}>", n
    ),
    "formatting that is reopened": lambda n: "<p>" + number_tags("<font a={}>", n) + "</p><p>x" * n,
    "formatting in a table": lambda n: "<table>" + number_tags("<b a={}>", n) + "<tr>x" * n,
    "misnested formatting": lambda n: number_tags("<b a={}>", n) + "<div>" * n + "</b>" * n,
    "formatting around blocks": lambda n: "<b><div></b>" * n,
    "attributes": lambda n: "<a " + number_tags("a{} ", 5 * n) + ">",
    "attributes with ends in them": lambda n: "<a " + number_tags("a{}='>' ", 5 * n) + ">",
    "attributes of a tag that does not end": lambda n: "<a " + number_tags("a{} ", 5 * n),
    "attributes of the root": lambda n: number_tags("<html a{}=1>", 4 * n),
    "attributes of the body": lambda n: "<body>" + number_tags("<body a{}=1>", 4 * n),
}
LINEAR: dict[str, Callable[[int], str]] = {
    "starts of tags": lambda n: "<a" * n,
    "open quotes": lambda n: "<a b='" * n,
    "brackets": lambda n: "<" * n,
    "comments": lambda n: "<!--" * n,
    "ends of comments": lambda n: "<!--" + "--!" * n,
    "ends of scripts": lambda n: "<script><!--" + "<script></script" * n,
    "scripts": lambda n: "<script>" * n,
    "CDATA": lambda n: "<svg>" + "<![CDATA[" * n,
    "titles": lambda n: "<title>" * n,
    "entities": lambda n: "&amp;" * n + "&CounterClockwiseContourIntegra" * n,
    "paragraphs": lambda n: "<p>" * n,
    "cells": lambda n: "<table>" + "<td>" * n,
    "instructions": lambda n: "<?" * n,
    "spaces": lambda n: "<a " + " " * n,
}
"""Documents for which a scan that backtracks would take quadratic time."""
