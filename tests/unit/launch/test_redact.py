import pytest

from coldsoak.launch.redact import REDACTED, is_secret, redact, redact_command, redact_text


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


@pytest.mark.parametrize(
    "name",
    ["TOKENIZERS_PARALLELISM", "tokenizer", "max_new_tokens", "num-tokens", "author", "keep"],
)
def test_words_of_text_models_and_of_people_are_no_secrets(name):
    assert not is_secret(name)


@pytest.mark.parametrize("name", ["token", "api_tokens", "authorization", "api-key", "PRIVATE_KEY"])
def test_secrets_are_known_by_their_names(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("python a.py --token abc x", "python a.py --token <redacted> x"),
        ("python a.py --api-key=abc --lr=0.1", "python a.py --api-key=<redacted> --lr=0.1"),
        ("python a.py --password --lr 3", "python a.py --password --lr 3"),
        ("env HF_TOKEN=abc python a.py", "env HF_TOKEN=<redacted> python a.py"),
        ("curl https://me:pw@host/x?a=1", "curl https://<redacted>@host/x?a=1"),
        ("a https://h/x?a=1&sig=abc&b=2", "a https://h/x?a=1&sig=<redacted>&b=2"),
        ("a --max-tokens 128 --tokenizer bert", "a --max-tokens 128 --tokenizer bert"),
        ("a hf_abcdefghijklmnopqrstuv", "a <redacted>"),
        ("python train.py --lr 0.1 device=cuda:0", "python train.py --lr 0.1 device=cuda:0"),
    ],
)
def test_command_lines(typed, kept):
    hidden = redact_command(typed.split())
    assert " ".join(hidden) == kept
    assert redact_command(hidden) == hidden


def test_code_on_a_command_line():
    words = ["python", "-c", "token = 'abc'; print(\"n: 1\")"]
    assert redact_command(words)[2] == "token = '<redacted>'; print(\"n: 1\")"
    assert redact_text('{"api_key": "abc", "n": 1}') == '{"api_key": "<redacted>", "n": 1}'
    assert redact_text("Authorization: Bearer abcdefghij") == "Authorization: <redacted>"
