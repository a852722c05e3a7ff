"""Settings of notifications: impossible ones are refused by name, and no secret is shown."""

from pathlib import Path

import pytest

from gossamer.errors import BadSettings
from gossamer.settings import load_settings

URL = "https://hooks.example.org/services/T0/secret-key"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"webhooks": [URL]}, "webhooks: an entry has no valid name"),
        ({"webhooks": [f"mail={URL}"]}, "webhooks: an entry has no valid name"),
        ({"webhooks": ["ops=ftp://secret-key/"]}, "webhooks: ops has no URL"),
        ({"webhooks": ["ops=https://[secret-key/"]}, "webhooks: ops has no URL"),
        ({"webhooks": [f"ops={URL}", f"ops={URL}"]}, "two channels have the same name"),
        ({"webhooks": {"ops": URL}}, "notify.webhooks"),
        ({"mail_to": ["ann@example.org"]}, "mail_to needs mail_from and smtp_host"),
        ({"mail_to": ["Ann <ann@example.org>"]}, "is not a mail address"),
        ({"mail_to": ["ann@example.org\nBcc: x@example.org"]}, "is not a mail address"),
        ({"smtp_username": "ann", "smtp_security": "none"}, "smtp_username needs smtp_security"),
        ({"smtp_username": "ann"}, "smtp_username needs smtp_password"),
        ({"webhook_key": "secret-key", "webhook_key_file": "key"}, "exclude each other"),
        ({"webhook_key_file": "nowhere"}, "nowhere is not a file"),
        ({"report": "daily"}, "report: daily needs mail_to, webhooks or topic"),
        ({"report_hour": 24}, "notify.report_hour"),
        ({"rules": ["host_found"]}, "notify.rules"),
    ],
)
def test_impossible_settings_are_refused_and_no_secret_is_shown(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(BadSettings) as refused:
        load_settings(overrides={"notify": given})
    assert message in str(refused.value)
    assert "secret-key" not in str(refused.value)


def test_webhooks_and_secrets_are_read_from_the_environment_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text("open sesame\n")
    monkeypatch.setenv("GOSSAMER_NOTIFY__WEBHOOKS", f'["ops={URL}?a=b"]')
    monkeypatch.setenv("GOSSAMER_NOTIFY__SMTP_PASSWORD_FILE", str(password))
    notify = load_settings().notify
    assert notify.webhook_urls() == {"ops": f"{URL}?a=b"}
    assert notify.smtp_secret() == "open sesame"
    assert notify.is_enabled and "secret-key" not in repr(notify)
