"""Settings of notifications and of the report by mail."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from gossamer.settings.units import (
    Name,
    Natural,
    Networks,
    Port,
    Positive,
    Seconds,
    SecondsOrZero,
    Section,
    unit,
)

RuleName = Literal[
    "crawl_finished", "host_lost", "freshness_dropped", "dead_letters", "budget_spent"
]
RULE_NAMES: tuple[RuleName, ...] = get_args(RuleName)
MAIL, TOPIC = "mail", "topic"
"""The names of the channels for mail and for the topic. All others are webhooks."""
_channel_name = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_mail_address = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")


class NotifySettings(Section):
    """Notifications, which the console sends: `gossamer console`, and `gossamer crawl
    --console`."""

    webhooks: Annotated[tuple[SecretStr, ...], unit("list of `NAME=URL`")] = ()
    """Channels that receive each notice as an HTTP POST of a JSON object. The name is for
    `gossamer notifications test NAME`. URLs are secret: they often contain a key."""
    webhook_key: SecretStr = SecretStr("")
    """The key of the signature of webhooks (HMAC-SHA256). Empty means that they are not signed.
    `webhook_key_file` is safer."""
    webhook_key_file: Path | None = None
    """A file whose first line is the key of the signature."""
    allow_networks: Networks = ()
    """Private or loopback networks in which webhooks may be. Others are refused."""
    mail_to: Annotated[tuple[str, ...], unit("list of mail addresses")] = ()
    """Receivers of notices and reports by mail. This needs `mail_from` and `smtp_host`."""
    mail_from: Annotated[str, unit("mail address")] = ""
    """The sender of mails."""
    smtp_host: Name = ""
    """The mail server."""
    smtp_port: Port = 587
    """The port of the mail server."""
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection to the mail server is encrypted: with STARTTLS, with TLS from the
    beginning (port 465), or not at all, for a server on this machine."""
    smtp_ca_file: Path | None = None
    """The certificate authority (PEM) that signs the mail server's certificate. Without it, the
    authorities of the system are trusted."""
    smtp_username: Name = ""
    """The user name at the mail server. Empty means that it needs no login."""
    smtp_password: SecretStr = SecretStr("")
    """The user's password. `smtp_password_file` is safer."""
    smtp_password_file: Path | None = None
    """A file whose first line is the password. It may change while a process runs."""
    topic: bool = False
    """Whether notices are raised for the topic `notifications` alone, without a webhook or mail.
    Raised notices are always on that topic, for other programs."""
    rules: Annotated[tuple[RuleName, ...], unit("list of rules")] = RULE_NAMES
    """The conditions that raise a notice."""
    host_failures: Annotated[Positive, unit("failures")] = 4
    """Failures in a row from which a host that had delivered pages counts as lost: its name does
    not resolve, it does not answer, or it answers with errors."""
    freshness_drop: Annotated[float, Field(gt=0, le=1), unit("share")] = 0.1
    """Loss of expected freshness, compared with the best of the seven days before, that raises a
    notice. The condition is over when half of it is regained."""
    dead_letters: Annotated[Positive, unit("records")] = 10
    """New dead letters that raise a notice."""
    pause: SecondsOrZero = 3600.0
    """Minimum time between two notices of a rule about a crawl. Only the end of a condition is
    reported sooner."""
    repeat: SecondsOrZero = 86400.0
    """Time after which the notice of a lost host or of a dropped freshness is repeated. 0 means
    never."""
    interval: Seconds = 60.0
    """Time between two evaluations of the rules."""
    report: Literal["off", "daily", "weekly"] = "off"
    """The report of `gossamer report`, about the day or the week (Monday to Sunday, UTC) before.
    Webhooks and the topic receive its first sentences."""
    report_hour: Annotated[Natural, Field(le=23), unit("hour, UTC")] = 6
    """When the report is sent. A weekly report is sent on Mondays."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        urls = self.webhook_urls()
        if len(urls) < len(self.webhooks):
            raise ValueError("webhooks: two channels have the same name")
        for name, url in urls.items():
            _check_webhook(name, url)
        self._check_mail()
        pairs = (
            ("webhook_key", self.webhook_key, self.webhook_key_file),
            ("smtp_password", self.smtp_password, self.smtp_password_file),
        )
        for setting, secret, file in pairs:
            if secret.get_secret_value() and file:
                raise ValueError(f"{setting} and {setting}_file exclude each other")
        for file in (self.webhook_key_file, self.smtp_password_file, self.smtp_ca_file):
            if file and not file.is_file():
                raise ValueError(f"{file} is not a file")
        if self.report != "off" and not self.is_enabled:
            raise ValueError(f"report: {self.report} needs mail_to, webhooks or topic")
        return self

    def _check_mail(self) -> None:
        for address in (*self.mail_to, *filter(None, [self.mail_from])):
            if not _mail_address.fullmatch(address) or not address.isascii():
                raise ValueError(f"{address!r} is not a mail address")
        if self.mail_to and not (self.mail_from and self.smtp_host):
            raise ValueError("mail_to needs mail_from and smtp_host")
        if self.smtp_username and self.smtp_security == "none":
            raise ValueError("smtp_username needs smtp_security starttls or tls")
        if self.smtp_username and not self.smtp_secret():
            raise ValueError("smtp_username needs smtp_password or smtp_password_file")

    @property
    def is_enabled(self) -> bool:
        """Whether there is a channel."""
        return bool(self.webhooks or self.mail_to or self.topic)

    def webhook_urls(self) -> dict[str, str]:
        """Return name → URL of the webhooks."""
        given = (one.get_secret_value().partition("=") for one in self.webhooks)
        return {name.strip(): url.strip() for name, _, url in given}

    def webhook_secret(self) -> str:
        """Return the key of the signature, or ""."""
        return _secret(self.webhook_key, self.webhook_key_file)

    def smtp_secret(self) -> str:
        """Return the password, and read its file again because the password may have changed."""
        return _secret(self.smtp_password, self.smtp_password_file)


def _secret(given: SecretStr, file: Path | None) -> str:
    if file and file.is_file():
        return file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
    return given.get_secret_value()


def _check_webhook(name: str, url: str) -> None:
    # Neither the URL nor an invalid name is in a message: a URL without a name may contain a key.
    if not _channel_name.fullmatch(name) or name in (MAIL, TOPIC):
        raise ValueError(
            "webhooks: an entry has no valid name before its =: write NAME=URL, with a name of "
            "a-z, 0-9, - and _ that is not mail or topic"
        )
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"webhooks: {name} has no URL with http or https")
