"""The notifier against real receivers: each notice arrives once, whatever is restarted."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from gossamer.console.notifications.lease import FleetLease, FolderLease
from gossamer.console.notifications.messages import signature_of
from gossamer.console.notifications.runner import Notifier
from gossamer.errors import Unavailable
from gossamer.events import CrawlDefined
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.crawls.notices import Notice, read_notices
from gossamer.log.codec import encode
from gossamer.services.frontier.totals.daily import DailyTallyRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings import NotifySettings
from gossamer.sqlite import Database
from tests.kernel.test_claims import Owner
from tests.servers import free_ports
from tests.support.receivers import HookServer, MailServer
from tests.support.waiting import HANG_TIMEOUT, until

KEY = "a-key"
NOON = 1_795_780_800.0
"""2026-11-27T12:00:00Z."""
DAY = 86400.0


class Crawl:
    """A folder with one crawl, a clock, and notifiers."""

    def __init__(self, path: Path) -> None:
        self.folder, self.now = Folder(path), NOON
        self.folder.make()
        Opened(self.folder)

    def reach(self, pages: int, limit: int = 5) -> None:
        """Define the crawl with a *limit*, at which it has *pages*."""
        opened = self.folder.open()
        opened.log.append(
            [encode(CrawlDefined(at=NOON, scope="any()", max_depth=3, max_pages=limit))]
        )
        opened.store.table(TallyRow).put(
            TallyRow("default", "0/4", admitted=9, queued=4, pages=pages)
        )
        opened.store.flush()

    def notifier(self, settings: NotifySettings, **more: Any) -> Notifier:
        """Return a notifier with the clock of the test."""
        path = self.folder.path
        return Notifier(
            lambda: open_crawl(None, path), path, settings, lambda: self.now, 0.02, **more
        )

    def notices(self) -> list[Notice]:
        """Return the notices on the topic, newest first."""
        return read_notices(self.folder.open().log)

    def is_sent(self) -> bool:
        """Return whether there is a notice, and all deliveries have ended."""
        found = self.notices()
        return bool(found) and all(one.at is not None for it in found for one in it.sent)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    """Return a crawl without pages."""
    crawl = Crawl(tmp_path / "data")
    crawl.reach(0)
    return crawl


def settings_for(
    hooks: HookServer | None = None, mails: MailServer | None = None, **more: Any
) -> NotifySettings:
    """Return settings with these receivers."""
    given: dict[str, Any] = {"allow_networks": ["127.0.0.0/8"], "interval": 0.01}
    if hooks:
        given["webhooks"] = [f"ops=http://127.0.0.1:{hooks.port}/hook?token=secret"]
        given["webhook_key"] = KEY
    if mails:
        given |= {
            "mail_to": ["ann@example.org", "bob@example.org"],
            "mail_from": "crawler@example.org",
            "smtp_host": "127.0.0.1",
            "smtp_port": mails.port,
            "smtp_security": "none",
        }
    return NotifySettings(**given | more)


@asynccontextmanager
async def running(notifier: Notifier) -> AsyncIterator[None]:
    """Run *notifier* in the block."""
    async with notifier.running():
        yield


async def eventually(happened: Callable[[], Any], what: str) -> None:
    """Wait until *happened*, beside the notifier."""
    async with asyncio.timeout(HANG_TIMEOUT):
        while not await asyncio.to_thread(happened):
            await asyncio.sleep(0.02)


async def test_notice_arrives_signed_by_webhook_and_by_mail(crawl: Crawl) -> None:
    with HookServer() as hooks, MailServer() as mails:
        crawl.reach(5)
        async with running(crawl.notifier(settings_for(hooks, mails))):
            await eventually(crawl.is_sent, "the notice is sent")
    [(body, headers)] = hooks.received
    told = json.loads(body)
    assert told["rule"] == "budget_spent" and told["crawl"] == "default"
    assert headers["gossamer-notice"] == told["id"]
    assert headers["gossamer-signature"] == f"sha256={signature_of(body, KEY)}"
    [(sender, receivers, message)] = mails.received
    assert (sender, receivers) == ("crawler@example.org", ["ann@example.org", "bob@example.org"])
    assert message["Subject"] == f"Gossamer: {told['text']}"
    assert told["text"] in message.get_content()


@pytest.mark.parametrize(
    ("password", "is_trusted", "error"),
    [
        ("secret", True, ""),
        ("wrong", True, "535 wrong password"),
        ("secret", False, "CERTIFICATE_VERIFY_FAILED"),
    ],
)
async def test_mail_needs_a_trusted_certificate_and_a_login(
    crawl: Crawl, tmp_path: Path, password: str, is_trusted: bool, error: str
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusted = authority if is_trusted else trustme.CA()
    trusted.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with MailServer(starttls=context, login=("crawler", "secret")) as mails:
        settings = settings_for(
            None,
            mails,
            smtp_security="starttls",
            smtp_ca_file=tmp_path / "ca.pem",
            smtp_username="crawler",
            smtp_password=password,
        )
        crawl.reach(5)
        async with running(crawl.notifier(settings, retry_waits=())):
            await eventually(crawl.is_sent, "the delivery ends")
    assert len(mails.received) == (not error)
    [notice] = crawl.notices()
    [sent] = notice.sent
    assert error in sent.error if error else sent.error == ""


async def test_restarted_notifier_repeats_nothing(crawl: Crawl) -> None:
    with HookServer() as hooks:
        crawl.reach(5)
        for _ in range(3):
            async with running(crawl.notifier(settings_for(hooks))):
                await eventually(crawl.is_sent, "the notice is sent")
        assert len(hooks.received) == 1
        crawl.reach(5, limit=9)
        async with running(crawl.notifier(settings_for(hooks))):
            await eventually(lambda: crawl.notices()[0].is_over, "the end is noticed")
        assert len(hooks.received) == 1
        crawl.now += 2 * 3600
        crawl.reach(9, limit=9)
        async with running(crawl.notifier(settings_for(hooks))):
            await eventually(lambda: len(hooks.received) == 2, "the second notice arrives")


async def test_receiver_that_is_restarted_misses_nothing(crawl: Crawl) -> None:
    with HookServer() as hooks, MailServer() as mails:
        settings = settings_for(hooks, mails)
        hooks.stop()
        mails.stop()
        crawl.reach(5)
        async with running(crawl.notifier(settings, retry_waits=(10.0, 10.0))):
            await eventually(crawl.notices, "the notice is raised")
            hooks.start()
            mails.start()

            def is_sent_later() -> bool:
                crawl.now += 10.0
                return crawl.is_sent()

            await eventually(is_sent_later, "the notice is sent")
        assert len(hooks.received) == len(mails.received) == 1


async def test_delivery_is_given_up_after_three_tries(crawl: Crawl) -> None:
    with HookServer(status=500) as hooks:
        crawl.reach(5)
        async with running(crawl.notifier(settings_for(hooks), retry_waits=(10.0, 100.0))):

            def is_given_up() -> bool:
                crawl.now += 10.0
                return crawl.is_sent()

            await eventually(is_given_up, "the delivery is given up")
    assert len(hooks.received) == 3
    assert len({headers["gossamer-notice"] for _, headers in hooks.received}) == 1
    [notice] = crawl.notices()
    error = f"http://127.0.0.1:{hooks.port} answered 500"
    assert [(one.channel, one.error) for one in notice.sent] == [("ops", error)]


async def test_redirects_are_not_followed_and_private_addresses_are_refused(crawl: Crawl) -> None:
    with HookServer() as target:
        with HookServer(302, f"http://127.0.0.1:{target.port}/") as hooks:
            crawl.reach(5)
            settings = settings_for(hooks)
            async with running(crawl.notifier(settings, retry_waits=())):
                await eventually(crawl.is_sent, "the delivery is given up")
            [notice] = crawl.notices()
            assert "302" in notice.sent[0].error
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"):
            url = f"ops=http://{host}:{target.port}/secret"
            given = NotifySettings(webhooks=[url])  # type: ignore[arg-type]
            crawl.now += 10 * DAY
            crawl.reach(5, limit=9)
            async with running(crawl.notifier(given)):
                await eventually(lambda: crawl.notices()[0].is_over, "the end is noticed")
            crawl.now += DAY
            crawl.reach(9, limit=9)
            async with running(crawl.notifier(given, retry_waits=())):
                await eventually(
                    lambda: not crawl.notices()[0].is_over and crawl.is_sent(), "given up"
                )
            error = crawl.notices()[0].sent[0].error
            assert "no public address" in error and "secret" not in error
            crawl.reach(5, limit=5)
        assert target.received == []


async def test_report_is_sent_once_with_text_and_html(crawl: Crawl) -> None:
    day = NOON - 12 * 3600
    opened = crawl.folder.open()
    row = DailyTallyRow("default", "0/4", day - DAY, visits=3, pages=2, sites=1, new_texts=1)
    opened.store.table(DailyTallyRow).put(row)
    opened.store.flush()
    with HookServer() as hooks, MailServer() as mails:
        settings = settings_for(hooks, mails, report="daily", rules=[])
        crawl.now = day + 5 * 3600
        notifier = crawl.notifier(settings)
        async with running(notifier):
            crawl.now = day + 6 * 3600
            await eventually(crawl.is_sent, "the report is sent")
        async with running(crawl.notifier(settings)):
            crawl.now += 3600
            await eventually(crawl.is_sent, "the report is sent")
    [(_, _, message)] = mails.received
    assert message["Subject"].startswith("Gossamer: report of 2026-11-26")
    text = message.get_body(("plain",))
    html = message.get_body(("html",))
    assert text and "2 pages, 1 new site" in text.get_content()
    assert html and "2 pages, 1 new site" in html.get_content()
    [attached] = message.iter_attachments()
    assert attached.get_filename() == "gossamer-report-2026-11-26.html"
    [(body, _)] = hooks.received
    assert "2 pages, 1 new site" in json.loads(body)["text"]


async def test_one_of_two_notifiers_sends(crawl: Crawl) -> None:
    with HookServer() as hooks:
        settings = settings_for(hooks)
        crawl.reach(5)
        async with running(crawl.notifier(settings)), running(crawl.notifier(settings)):
            await eventually(crawl.is_sent, "the notice is sent")
        assert len(hooks.received) == 1
        assert len(crawl.notices()) == 1


def test_lock_of_a_folder_has_one_holder(tmp_path: Path) -> None:
    one, two = FolderLease(tmp_path), FolderLease(tmp_path)
    assert one.hold(NOON) and not two.hold(NOON)
    one.release()
    assert two.hold(NOON) and not one.hold(NOON)


def test_claim_of_a_fleet_has_one_holder_and_is_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database, now = Database(":memory:"), NOON
    monkeypatch.setattr("gossamer.clock.now", lambda: now)
    one, two = FleetLease(Owner(database)), FleetLease(Owner(database))
    assert [one.hold(now), one.hold(now), two.hold(now)] == [False, True, False]
    for _ in range(10):
        now += 2.0
        assert one.hold(now) and not two.hold(now)
    now += 11.0
    # The holder was suspended. Only after its next look it learns that it lost the claim.
    assert [two.hold(now), two.hold(now)] == [False, True]
    with pytest.raises(Unavailable):
        one.hold(now)
    assert not one.hold(now) and two.hold(now)


@pytest.mark.slow
def test_killed_console_sends_each_notice_once(crawl: Crawl, tmp_path: Path) -> None:
    with HookServer() as hooks, MailServer() as mails:
        settings = _settings_file(tmp_path, hooks, mails)
        hooks.stop()
        crawl.reach(5)
        # The mail arrives, and the webhook does not, because its server is down.
        _run_console(crawl, settings, lambda: mails.received and _sent(crawl, "mail"))
        assert not _sent(crawl, "ops")
        hooks.start()
        _run_console(crawl, settings, lambda: _sent(crawl, "ops"))
        _run_console(crawl, settings, lambda: True)
        assert len(mails.received) == len(hooks.received) == 1


def _settings_file(folder: Path, hooks: HookServer, mails: MailServer) -> Path:
    file = folder / "gossamer.toml"
    file.write_text(
        "[notify]\n"
        f'webhooks = ["ops=http://127.0.0.1:{hooks.port}/"]\n'
        'allow_networks = ["127.0.0.0/8"]\n'
        'mail_to = ["ann@example.org"]\nmail_from = "crawler@example.org"\n'
        f'smtp_host = "127.0.0.1"\nsmtp_port = {mails.port}\nsmtp_security = "none"\n'
        "interval = 0.5\n"
    )
    return file


def _sent(crawl: Crawl, channel: str) -> bool:
    return any(
        one.channel == channel and one.at is not None for it in crawl.notices() for one in it.sent
    )


def _run_console(crawl: Crawl, settings: Path, happened: Callable[[], Any]) -> None:
    """Run `gossamer console` until *happened*, and kill it."""
    command = [
        sys.executable, "-m", "gossamer.console.cli.main", "console", "--config", str(settings),
        "--data", str(crawl.folder.path), "--port", str(free_ports(1)),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and "Console: http" in process.stdout.readline()
            until(happened, "the console has sent what it can")
        finally:
            os.kill(process.pid, signal.SIGKILL)
