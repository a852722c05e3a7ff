"""Notices as webhooks and as mails: what is sent, without sending it."""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec

from gossamer.events import FLEET, NoticeRaised
from gossamer.inspection.basics.figures import instant
from gossamer.settings import NotifySettings
from gossamer.terminal import printable

MAX_TITLE_LENGTH = 120
ID_HEADER, SIGNATURE_HEADER = "Gossamer-Notice", "Gossamer-Signature"
"""Headers of a webhook: the id of the notice, and `sha256=` with the HMAC of the body."""


class Attachment(NamedTuple):
    """The HTML form of a mail, and the name under which the same file is attached."""

    html: str
    name: str


class Content(NamedTuple):
    """The content of a message about a notice."""

    title: str
    text: str
    report: Attachment | None = None


def content_of(notice: NoticeRaised, source: str) -> Content:
    """Return the content of a notice of the folder or fleet *source*."""
    lines = [notice.text, ""]
    if len(notice.subjects) > 1:
        lines += [*notice.subjects, ""]
    if notice.at > notice.begun_at:
        lines.append(f"{'Since' if not notice.is_over else 'It began'}: {instant(notice.begun_at)}")
    lines += [f"Time: {instant(notice.at)}", f"Source: {source}"]
    if notice.crawl != FLEET:
        lines.append(f"Crawl: {notice.crawl}")
    lines.append(f"Notice: {notice.id} (gossamer notifications)")
    return Content(f"Gossamer: {notice.text}", "\n".join(lines))


def webhook_request(notice: NoticeRaised, source: str, key: str) -> tuple[bytes, Mapping[str, str]]:
    """Return body and headers of a webhook, signed if there is a *key*."""
    body = msgspec.json.encode(
        {
            "id": notice.id,
            "rule": notice.rule,
            "source": source,
            "crawl": None if notice.crawl == FLEET else notice.crawl,
            "text": notice.text,
            "subjects": notice.subjects,
            "value": notice.value,
            "is_over": notice.is_over,
            "at": notice.at,
            "begun_at": notice.begun_at,
        }
    )
    headers = {"Content-Type": "application/json", ID_HEADER: notice.id}
    if key:
        headers[SIGNATURE_HEADER] = f"sha256={signature_of(body, key)}"
    return body, headers


def signature_of(body: bytes, key: str) -> str:
    """Return the HMAC-SHA256 of *body*, in hexadecimal digits."""
    return hmac.new(key.encode(), body, sha256).hexdigest()


def mail(notice: NoticeRaised, content: Content, settings: NotifySettings) -> EmailMessage:
    """Return the mail about a notice. Repeated ones have the same Message-ID."""
    message = EmailMessage(SMTP)
    message["From"] = settings.mail_from
    message["To"] = ", ".join(settings.mail_to)
    # Host names and URLs are texts of the Web: none may begin a further header.
    message["Subject"] = printable(content.title, MAX_TITLE_LENGTH)
    message["Date"] = format_datetime(datetime.fromtimestamp(notice.at, UTC))
    digest = sha256(f"{settings.mail_from} {notice.id} {notice.at}".encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{digest}@{settings.mail_from.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(content.text)
    if report := content.report:
        message.add_alternative(report.html, subtype="html")
        message.add_attachment(report.html, subtype="html", filename=report.name)
    return message
