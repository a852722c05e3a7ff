"""The channels: webhooks over HTTP, and mail over SMTP."""

import asyncio
import smtplib
import socket
import ssl
from collections.abc import Collection, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from gossamer.console.notifications.messages import Content, mail, webhook_request
from gossamer.errors import GossamerError
from gossamer.events import NoticeRaised
from gossamer.services.fetcher.addresses import Network, may_connect
from gossamer.settings import NotifySettings
from gossamer.settings.notify import MAIL

logger = structlog.get_logger()
TIMEOUT = 15.0
"""Seconds of a delivery."""


class NotDelivered(GossamerError):
    """A channel did not accept a notice. The message says why, without secrets."""


class Channel(Protocol):
    """A receiver of notices."""

    kind: str
    """`webhook` or `mail`."""
    target: str
    """The receiver, for people, without secrets."""

    async def send(self, notice: NoticeRaised, content: Content, source: str) -> None:
        """Deliver a notice of the folder or fleet *source*. Raise NotDelivered if it fails."""


def open_channels(settings: NotifySettings) -> Mapping[str, Channel]:
    """Return the channels of *settings* by name."""
    channels = dict[str, Channel]()
    for name, url in settings.webhook_urls().items():
        channels[name] = Webhook(url, settings)
    if settings.mail_to:
        channels[MAIL] = Mail(settings)
    return channels


class Webhook:
    """Sends notices to a URL. Redirects are not followed, and private addresses are refused."""

    kind = "webhook"

    def __init__(self, url: str, settings: NotifySettings) -> None:
        self._url, self._settings = url, settings
        parts = urlsplit(url)
        # Neither user and password nor path and query: they often contain a key.
        host = parts.hostname or ""
        self.target = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
        if parts.port:
            self.target += f":{parts.port}"

    async def send(self, notice: NoticeRaised, content: Content, source: str) -> None:
        """POST the notice; the response must be a success (2xx)."""
        try:
            body, headers = webhook_request(notice, source, self._settings.webhook_secret())
            status = await self._post(body, headers)
        except TimeoutError as error:
            raise NotDelivered(f"{self.target} did not answer within {TIMEOUT:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = _reason(error)
            raise NotDelivered(f"{self.target} cannot be reached: {reason}") from error
        if not 200 <= status < 300:
            redirect = " (redirects are not followed)" if 300 <= status < 400 else ""
            raise NotDelivered(f"{self.target} answered {status}{redirect}")

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> int:
        allowed = self._settings.allow_networks
        host = urlsplit(self._url).hostname or ""
        # aiohttp asks no resolver about an address.
        if _is_address(host):
            _check(host, [host], allowed)
        connector = aiohttp.TCPConnector(resolver=PublicResolver(allowed))
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT),
                headers={"User-Agent": "gossamer-notifications"},
            ) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            return response.status


class PublicResolver(AbstractResolver):
    """Resolves names by the system, to public and *allowed* addresses alone."""

    def __init__(self, allowed: Collection[Network]) -> None:
        self._allowed, self._resolver = allowed, ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host*. Raise OSError if none may be connected to."""
        found = await self._resolver.resolve(host, port, family)
        permitted = _check(host, [one["host"] for one in found], self._allowed)
        return [one for one in found if one["host"] in permitted]

    async def close(self) -> None:
        """Do nothing."""


def _is_address(host: str) -> bool:
    # As aiohttp: also forms such as 127.1 and 2130706433, which the system reads as an address.
    if ":" in host:
        return True
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True


def _check(host: str, addresses: list[str], allowed: Collection[Network]) -> list[str]:
    permitted = [one for one in addresses if may_connect(one, allowed)]
    if not permitted:
        raise OSError(f"{host} has no public address: see notify.allow_networks")
    return permitted


def _reason(error: Exception) -> str:
    # Texts of aiohttp may contain the URL.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and not isinstance(cause, aiohttp.ClientError):
            return cause.strerror or str(cause)
        cause = cause.__cause__
    return type(error).__name__


class Mail:
    """Sends notices by SMTP, in a thread."""

    kind = "mail"

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self.target = ", ".join(settings.mail_to)

    async def send(self, notice: NoticeRaised, content: Content, source: str) -> None:
        """Send the mail; the server must accept it for a receiver."""
        await asyncio.to_thread(self._send, notice, content)

    def _send(self, notice: NoticeRaised, content: Content) -> None:
        settings = self._settings
        server = f"{settings.smtp_host}:{settings.smtp_port}"
        try:
            message = mail(notice, content, settings)
            client = self._connect()
            try:
                if settings.smtp_security == "starttls":
                    client.starttls(context=self._tls())
                if settings.smtp_username:
                    client.login(settings.smtp_username, settings.smtp_secret())
                refused = client.send_message(message, settings.mail_from, settings.mail_to)
            finally:
                # Without QUIT: its failure would say nothing about the mail.
                client.close()
        except smtplib.SMTPResponseException as error:
            text = error.smtp_error
            said = text.decode(errors="replace") if isinstance(text, bytes) else text
            raise NotDelivered(f"{server} answered {error.smtp_code} {said}") from error
        except smtplib.SMTPRecipientsRefused as error:
            raise NotDelivered(f"{server} refused {', '.join(error.recipients)}") from error
        except TimeoutError as error:
            raise NotDelivered(f"{server} did not answer within {TIMEOUT:g} s") from error
        except (OSError, ValueError) as error:
            raise NotDelivered(f"{server}: {error}") from error
        if refused:
            # Repeated, the mail would reach the other receivers twice.
            logger.warning("mail server refused some receivers", receivers=sorted(refused))

    def _connect(self) -> smtplib.SMTP:
        settings = self._settings
        host, port = settings.smtp_host, settings.smtp_port
        if settings.smtp_security == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT, context=self._tls())
        return smtplib.SMTP(host, port, timeout=TIMEOUT)

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.smtp_ca_file)
