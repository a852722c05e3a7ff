"""The report of a crawl as one HTML file: printable, without scripts and without addresses.

URLs, media types and texts come from the Web. All of them pass `escape`.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape as escape_markup

from gossamer.console.report_text import MAX_DAYS, MAX_DOWNLOADS, overview, summary
from gossamer.inspection.basics.figures import duration, number, plural, share_text, size
from gossamer.inspection.basics.labels import download_label
from gossamer.inspection.progress.report import DownloadReport, HazardReport, Report
from gossamer.terminal import escape_controls

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.examples { font-size: .85rem; color: #777; }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
COLUMN_SCOPE = ' scope="col"'
Row = Sequence[str]


class Html(str):
    """Markup, which is not escaped again."""


def escape(text: str) -> str:
    """Return *text* as a text node or an attribute, without control characters."""
    return escape_markup(escape_controls(text))


def report_page(reports: Sequence[Report], title: str, lead: Iterable[str] = ()) -> str:
    """Return one HTML document with all *reports*. *lead*: sentences at its beginning."""
    sections = "".join(part for report in reports for part in _sections(report))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape_markup(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(map(_paragraph, lead))}{sections}</body></html>\n"
    )


def _sections(report: Report) -> Iterator[str]:
    yield f"<section><h2>{escape(report.crawl)}</h2>"
    if not report.first_day:
        yield f"{_paragraph('Nothing was counted.')}</section>"
        return
    yield _paragraph(summary(report))
    yield _table("All visits", ("", ""), [(line.title, line.text) for line in overview(report)], 0)
    if report.advice:
        items = "".join(f"<li>{escape(one.text)}</li>" for one in report.advice)
        yield f"<h2>Advice</h2><ul>{items}</ul>"
    met = [one for one in report.hazards if one.is_met]
    if met:
        yield _hazards(met)
    for name, found in (("Status codes", report.statuses), ("Media types", report.types)):
        if found:
            yield _downloads(name, found)
    if any(stage.seconds for stage in report.stages):
        stages = [
            (one.label, duration(one.seconds), share_text(one.share)) for one in report.stages
        ]
        yield _table("Time by stage, of all visits together", ("stage", "time", "share"), stages, 2)
    if len(report.days) > 1:
        yield _days(report)
    yield "</section>"


def _hazards(met: Sequence[HazardReport]) -> str:
    rows = [
        (
            Html(f"{escape(one.label)}{_examples(one)}"),
            f"{one.sites:,}",
            share_text(one.site_share),
            f"{one.urls + one.parked_links:,}",
            share_text(one.url_share),
            f"{one.refused:,}",
        )
        for one in met
    ]
    names = ("limit or hazard", "sites", "share", "URLs", "share", "refused")
    return _table("Limits, traps and hazards", names, rows, 5)


def _examples(hazard: HazardReport) -> str:
    lines = [*hazard.settings, *hazard.examples]
    found = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return f'<div class="examples">{found}</div>' if found else ""


def _downloads(name: str, found: Sequence[DownloadReport]) -> str:
    rows = [
        (download_label(one.name), f"{one.responses:,}", share_text(one.share), size(one.received))
        for one in found[:MAX_DOWNLOADS]
    ]
    return _table(name, ("", "responses", "share", "received"), rows, 3)


def _days(report: Report) -> str:
    rows = [
        (
            one.day,
            number(one.totals.visits),
            number(one.totals.pages),
            number(one.totals.new_texts),
            number(one.totals.copies),
            size(one.totals.received),
        )
        for one in report.days[:MAX_DAYS]
    ]
    table = _table("Days", ("day", "requests", "pages", "new texts", "copies", "received"), rows, 5)
    if (rest := len(report.days) - MAX_DAYS) > 0:
        table += _paragraph(f"{plural(rest, 'earlier day')} not shown.")
    return table


def _table(caption: str, names: Row, rows: Sequence[Row], numeric: int) -> str:
    """Return a table whose last *numeric* columns have numbers."""
    first = len(names) - numeric
    classes = ["" if at < first else ' class="n"' for at in range(len(names))]

    def row(cells: Row, name: str, attributes: str = "") -> str:
        columns = zip(cells, classes, strict=True)
        shown = (f"<{name}{attributes}{kind}>{_cell(cell)}</{name}>" for cell, kind in columns)
        return f"<tr>{''.join(shown)}</tr>"

    head = f"<thead>{row(names, 'th', COLUMN_SCOPE)}</thead>" if any(names) else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
