import pytest

from coldsoak.launch.redact import REDACTED, redact


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "aws_secret_access_key",
        "DB_PASSWORD",
        "MyPasswd",
        "GOOGLE_CREDENTIALS",
        "HTTP_AUTHORIZATION",
        "COOKIE",
        "PRIVATE_THING",
        "SSH_AUTH_SOCK",
        "OPENAI_API_KEY",
        "MYSQL_PWD",
        "DB_PASS",
        "SLACK_WEBHOOK",
    ],
)
def test_hidden_by_name(name):
    assert redact({name: "x"}) == {name: REDACTED}


@pytest.mark.parametrize(
    "value",
    [
        "https://user:pw@host/simple",
        "postgresql+psycopg://me:pw@db/x",
        "a http://token@h b",
        "https://h/x?a=1&access_token=abc",
        "https://h/?sig=abc",
    ],
)
def test_hidden_by_value(value):
    assert redact({"INDEX": value}) == {"INDEX": REDACTED}


def test_the_rest_is_kept():
    kept = {
        "PATH": "/bin",
        "PWD": "/a",
        "OLDPWD": "/b",
        "BYPASS": "1",
        "URL": "https://host/a@b",
        "MAIL": "me@host",
        "CUDA_HOME": "/c",
    }
    assert redact(kept) == kept
