import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.launch.redact_source import redact_source

SECRET = "s3cr3t"

HIDDEN = [
    'token = "s3cr3t"',
    'self.api_key = "s3cr3t"',
    'TOKEN: str = "s3cr3t"',
    'os.environ["HF_TOKEN"] = "s3cr3t"',
    'os.environ.setdefault("HF_TOKEN", "s3cr3t")',
    'os.environ.get("HF_TOKEN", "s3cr3t")',
    'login(token="s3cr3t")',
    'parser.add_argument("--password", default="s3cr3t")',
    'config = {"password": "s3cr3t", "n": 1}',
    'user, password = "me", "s3cr3t"',
    'KEYS = ["s3cr3t", "b"]',
    'if password == "s3cr3t": pass',
    'def f(a, password="s3cr3t"): pass',
    'def f(*, password="s3cr3t"): pass',
    'def api_key():\n    if 1:\n        return "s3cr3t"',
    'token = f"s3cr3t{1}"',
    'token = b"s3cr3t"',
    'print(token := "s3cr3t")',
    'db = "postgres://me:s3cr3t@host/x"',
    'db = f"postgres://me:s3cr3t@{host}/x"',
    'x = 1  # HF_TOKEN = "s3cr3t"',
    '# curl -H "Authorization: Bearer s3cr3ts3cr3t"',
    'token = ("a"  # token=s3cr3t\n         "s3cr3t")',
    'token = """\ns3cr3t\n""" + "x"',
    'subprocess.run(["login", "--token=s3cr3t"])',
    'name = "ä"; token = "s3cr3t"; x = "ö"  # ü token=s3cr3t',
]


@pytest.mark.parametrize("code", HIDDEN)
def test_secrets_are_hidden_and_no_line_moves(code):
    before = f"import os\n{code}\nlast = 'line'\n"
    after = redact_source(before)
    assert SECRET not in after
    assert after.count("\n") == before.count("\n")
    assert after.splitlines()[0] == "import os"
    assert after.splitlines()[-1] == "last = 'line'"
    assert _shape(after) == _shape(before)


@pytest.mark.parametrize(
    "code",
    [
        'with tf.device("/GPU:0"):\n    start = time.time()\n',
        'tokenizer = AutoTokenizer.from_pretrained("gpt2")\nmodel.generate(max_new_tokens=32)\n',
        "rows.sort(key=lambda row: row[1])\nkey = jax.random.key(0)\n",
        'url = "https://host/a@b?n=1"\nprint(f"{n:.3f} s: {x}")\n',
        "# a comment: nothing in it\nx = {'n': 'm', **rest}\n",
        "",
    ],
)
def test_the_rest_is_kept_to_the_letter(code):
    assert redact_source(code) == code


def test_what_cannot_be_parsed_is_not_kept():
    assert redact_source("token = 'abc\n") is None
    assert redact_source("print 'x'\n") is None


NAMES = st.sampled_from(["token", "x", "api_key", "n"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x0c\x1c\x85"), max_size=20)


@given(st.lists(st.tuples(NAMES, TEXTS, st.booleans()), max_size=6))
def test_any_assignments(assignments):
    code = "".join(
        f"{name} = ({text!r},{chr(10) if split else ''} 1)  # é\n"
        for name, text, split in assignments
    )
    after = redact_source(code)
    assert after.count("\n") == code.count("\n")
    bound = [node.value.elts[0].value for node in ast.parse(after).body]
    for (name, text, _), value in zip(assignments, bound, strict=True):
        assert (
            value == "<redacted>" if name in {"token", "api_key"} else value in {text, "<redacted>"}
        )


def _shape(code):
    """The statements with their lines."""
    return [
        (type(node).__name__, node.lineno)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt)
    ]
