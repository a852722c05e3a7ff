"""`gossamer report`: what limits, traps and hazards cost, and what the downloads brought."""

import argparse
from collections.abc import Iterable, Iterator

from gossamer.console.cli.options import add_crawl, open_from, positive
from gossamer.console.output import BOLD, YELLOW, print_items, print_json, print_lines, say
from gossamer.console.report_html import report_page
from gossamer.console.report_text import MAX_DAYS, MAX_DOWNLOADS, overview, period_text, summary
from gossamer.inspection.basics.figures import duration, plural, share_text, size
from gossamer.inspection.basics.labels import download_label
from gossamer.inspection.progress.report import DownloadReport, HazardReport, Report, read_report
from gossamer.rules import MAX_FAILURE_CHARS
from gossamer.terminal import printable

MAX_URL_LENGTH = 400


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("--day", default="", metavar="DAY", help="only this day: 2026-11-26, UTC")
    command.add_argument("--days", type=positive, metavar="N", help="only the last N days")
    command.add_argument(
        "--advice", action="store_true", help="only limits to change, with the figures"
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument(
        "--html", action="store_true", help="print the report as an HTML file that can be printed"
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Print the report."""
    with open_from(options) as crawl:
        report = read_report(crawl, options.days, options.day)
    if options.json:
        print_json(report, is_indented=True)
    elif options.html:
        print(report_page([report], f"Report of {report.crawl}"), end="")
    elif not report.first_day:
        say(f"{report.crawl}: nothing was counted{f' on {options.day}' * bool(options.day)}.")
    elif options.advice:
        _print_advice(report)
    else:
        _print_report(report)
    return 0


def _print_advice(report: Report) -> None:
    found = f"{plural(len(report.advice), 'piece')} of advice" if report.advice else "no advice"
    say(f"{report.crawl}: {found}, from {period_text(report)}.")
    print_items(advice.text for advice in report.advice)


def _print_report(report: Report) -> None:
    say(summary(report))
    print_lines(overview(report))
    met = [one for one in report.hazards if one.is_met]
    if met:
        _print_section(
            "Limits and hazards: sites that met them first, URLs, settings, examples",
            (line for hazard in met for line in hazard_lines(hazard)),
        )
    if report.rule_failure:
        failure = printable(report.rule_failure, MAX_FAILURE_CHARS)
        _print_section("A rule of the crawl failed: first page, traceback", [failure])
    for title, downloads in (("Status codes", report.statuses), ("Media types", report.types)):
        if downloads:
            _print_section(f"{title}: responses, their share, bytes", download_lines(downloads))
    if any(stage.seconds for stage in report.stages):
        stages = (
            f"{duration(stage.seconds):>12} {share_text(stage.share):>8}  {stage.label}"
            for stage in report.stages
        )
        _print_section("Time by stage, of all visits together", stages)
    if len(report.days) > 1:
        _print_section("Days: requests, pages, new texts, copies, bytes", day_lines(report))
    if report.advice:
        say("")
        advice = plural(len(report.advice), "piece")
        say(f"{advice} of advice: gossamer report --advice", YELLOW)


def _print_section(title: str, lines: Iterable[str]) -> None:
    say("")
    say(title, BOLD)
    print_items(lines)


def hazard_lines(hazard: HazardReport) -> Iterator[str]:
    """Yield the row of *hazard*, its settings, and its examples."""
    sites = f"{hazard.sites:>7,} {share_text(hazard.site_share):>8}"
    urls = f"{hazard.urls + hazard.parked_links:>10,} {share_text(hazard.url_share):>8}"
    yield f"{sites} {urls}  {hazard.label}"
    details = list[str]()
    if hazard.parked_links:
        details.append(f"{plural(hazard.parked_links, 'link')} parked")
    if hazard.refused:
        details.append(f"{plural(hazard.refused, 'URL')} refused")
    if hazard.settings:
        details.append(", ".join(hazard.settings))
    if details:
        yield f"    {'; '.join(details)}"
    for url in hazard.examples:
        yield f"    {printable(url, MAX_URL_LENGTH)}"


def download_lines(downloads: tuple[DownloadReport, ...]) -> Iterator[str]:
    """Yield the rows of the most frequent *downloads*."""
    for one in downloads[:MAX_DOWNLOADS]:
        share, name = share_text(one.share), printable(download_label(one.name))
        yield f"{one.responses:>10,} {share:>8} {size(one.received):>10}  {name}"
    if rest := downloads[MAX_DOWNLOADS:]:
        responses = sum(one.responses for one in rest)
        yield f"{responses:>10,} of {plural(len(rest), 'other kind')}: --json"


def day_lines(report: Report) -> Iterable[str]:
    """Yield the rows of the newest days."""
    for one in report.days[:MAX_DAYS]:
        totals = one.totals
        yield (
            f"{one.day} {totals.visits:>10,} {totals.pages:>10,} {totals.new_texts:>10,} "
            f"{totals.copies:>10,} {size(totals.received):>10}"
        )
    if len(report.days) > MAX_DAYS:
        yield f"and {plural(len(report.days) - MAX_DAYS, 'earlier day')}: --json"
