"""What is hidden in a text, a value and a log, and what is left as it is."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator

import pytest

from orchestrator.on_host.secrets import secrets
from orchestrator.on_host.secrets.secrets import (
    STARS,
    brief,
    holds_secret,
    redact,
    redact_lines,
    redacted,
    remember,
)

BODY = "MIIEpAIBAAKCAQEA7bq98Kd0sYx3vQ0pQ1TzR2mN4hL5jG6fD7sA8wE9rT0yU1iO"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\nQ2FuYXJ5\n-----END RSA PRIVATE KEY-----"
FORMS = [
    "hf_abcdefghijklmnop",
    "hf_0123456789",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "gho_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz",
    "glpat-abcDEF123456_-7890xy",
    "sk-proj-abcDEF1234567890abcDEF",
    "sk-ant-api03-abcDEF1234567890abcDEF-xyz",
    "sk-abcdefghijklmnopqrstuvwx",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "xoxb-123456789012-abcdefABCDEF",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "npm_abcdefghij0123456789abcdefghij012345",
    "pypi-AgEIcHlwaS5vcmcCJGNhbmFyeQ",
    "nvapi-abcDEF123456_-7890",
    "dckr_pat_abcDEF123456_-7890",
    "r8_abcDEF1234567890abcDEF",
    "gsk_abcDEF1234567890abcDEF",
]
PLACES = [
    ("HF_TOKEN=CANARYx next", "CANARY"),
    ("Authorization: Bearer abc.def-CANARY", "CANARY"),
    ("authorization: bearer abc.def-CANARY", "CANARY"),
    ("authorization: token CANARY12345", "CANARY"),
    ("Authorization: Basic Q0FOQVJZOnBhc3M=", "Q0FO"),
    ("curl -H 'Authorization: Custom foo CANARY' http://x", "CANARY"),
    ('curl -H "X-Api-Key: CANARYabc" -u bob:CANARY http://x', "CANARY"),
    ("headers=[(b'authorization', b'Bearer CANARY1'), (b'x-api-key', b'CANARY1')]", "CANARY"),
    ("Cookie: a=CANARY; session=CANARY", "CANARY"),
    ("{'set-cookie': 'sid=CANARY; Path=/'}", "CANARY"),
    ("non-default args: {'api_key': ['CANARY'], 'port': 1}", "CANARY"),
    ("api_key=['CANARY', 'CANARY2']", "CANARY"),
    ("vllm serve m --api-key CANARY --port 1", "CANARY"),
    ("vllm serve m --hf-token=CANARY", "CANARY"),
    ("['--api-key', 'CANARY', '--port', '1']", "CANARY"),
    ("{'VLLM_API_KEY': 'CANARY'}", "CANARY"),
    ('{"name": "HF_TOKEN", "value": "CANARY"}', "CANARY"),
    ("- name: HF_TOKEN\n  value: CANARY", "CANARY"),
    (r'"{\"HF_TOKEN\": \"CANARY\", \"port\": 1}"', "CANARY"),
    ("VLLM_API_KEY: CANARY", "CANARY"),
    ("hf_token='CANARY', tokenizer='m'", "CANARY"),
    ("AWS_SECRET_ACCESS_KEY=abc/CANARY", "CANARY"),
    ("vllm serve m --api-key first CANARY CANARY2 --port 1", "CANARY"),
    ("vllm: ['--api-key', 'first', 'CANARY', '--port', '1']", "CANARY"),
    ("redis-server --requirepass CANARY", "CANARY"),
    ("tailscale up --authkey tskey-CANARY", "CANARY"),
    ("\x1b[31mghp_16C7e42F292c6912E7710c838347CANARY\x1b[0m", "CANARY"),
    ("ghp_16C7e42F\x1b[0;31m292c6912E7710c838347CANARY", "CANARY"),
    ("\x1b[32mHF_TOKEN\x1b[0m=\x1b[33mCANARY", "CANARY"),
    ("DB_PASS=CANARY,x;y", "y"),
    ("password: CANARY", "CANARY"),
    ("DB_PASS=$CANARy", "CANAR"),
    ("DB_PASS='fubu'", "fubu"),
    ('{"api_key": "bFrubF"}', "rub"),
    ("İstanbul ÜBER K PASSWORD=CANARY İ", "CANARY"),
    ("token: CANARY123xyz", "CANARY"),
    ("AccountName=x;AccountKey=CANARY==;EndpointSuffix=core", "CANARY"),
    ("machine api.wandb.ai login user password CANARY", "CANARY"),
    ("sshpass -p CANARY ssh host", "CANARY"),
    ("docker login -u bob -p CANARY registry.example", "CANARY"),
    ("wandb: api key 0123456789abcdef0123456789abcdef01234567 is taken", "0123456789abcdef"),
    ("aws_secret_access_key   =   CANARY", "CANARY"),
    ("X-Vault-Token: CANARY", "CANARY"),
    ("Server=x;User Id=a;Password=CANARY;", "CANARY"),
    ("jdbc:postgresql://h/db?user=a&password=CANARY", "CANARY"),
    ("no such file: https:/user:CANARY@mirror/x", "CANARY"),
    ("https://user:CANARY@mirror/x", "CANARY"),
    ("https://CANARY@mirror/x", "CANARY"),
    ("http://user:CAN@ARY@mirror/x", "ARY"),
    ("postgres://u:CANARY/x@db:5432/x", "CANARY"),
    ("redis://:CANARY@h:6379/0", "CANARY"),
    ("git+https://CANARY@github.com/a/b@main", "CANARY"),
    ("amqp://u:CANARY@[::1]:5672/", "CANARY"),
    ("http%3A%2F%2Fu%3ACANARY%40host%2F", "CANARY"),
    (r"http:\/\/u:CANARY@host", "CANARY"),
    ("HTTPS_PROXY=bob:CANARY@proxy:3128", "CANARY"),
    ("https://s3/x?X-Amz-Credential=CANARY%2F2020&X-Amz-Expires=5&X-Amz-Signature=CANARY", "CANARY"),
    ("https://s3/x?X-Amz-Security-Token=CANARY%3D&x=1", "CANARY"),
    ("https://g/x?X-Goog-Signature=CANARY", "CANARY"),
    ("https://a/x?sv=1&se=2&sig=CANARY%3D&sp=r", "CANARY"),
    ("https://cdn/x?Expires=1&Signature=CANARY~a-&Key-Pair-Id=CANARY", "CANARY"),
    ("https://a/x?a=1%26access_token%3DCANARY", "CANARY"),
    ("https://a/x?api_key=CANARY#part", "CANARY"),
    ("https://hooks.slack.com/services/T0/B0/CANARY", "CANARY"),
]
ORDINARY = [
    "write --set KEY=VALUE, such as --set port=8001",
    "docker run -u 1000:1000 --rm image",
    "(tried: ~/.ssh/id_ed25519; a passphrase locks /home/ada/.ssh/id_rsa).",
    "\x1b[31mERROR\x1b[0m vllm wants --max-num-seqs 8 after --port 1",
    "max_num_batched_tokens=8192 tokens: 3 hf_quant_config.json --port 8000 tokenizer='/m' tokenizer_mode=auto",
    "max_tokens: 8, GPU KV cache size: 189,952 tokens hf_token=None token_ids=[1, 2] api_key=None",
    "unexpected token: comma, basic understanding, bearer authentication, key: value, authorization: failed",
    "Unexpected key(s) in state_dict: 'x', KeyError: 'model.layers.0.key', cache_key='abc', key=foo",
    "bos_token='<s>' eos_token_id=2 pad_token: <pad> image_token=151655",
    "tcp://10.0.0.1:2000 http://host:8000/a@b http://host:8000?x=a@b vllm/vllm-openai:v0.16@sha256:abc",
    "ssh://git@github.com/a git@github.com:a/b https://huggingface.co/a?download=true&x=1",
    "hf_overrides hf_quantization task-specific-abc disk-cache-0123456789abcdef pypi-simple AKIA",
    "HF_TOKEN=$HF_TOKEN API_KEY=${VLLM_API_KEY} token='' password=None",
    "first pass: 3 of 5 passes, PATH=/usr/bin, SSH_AUTH_SOCK=/tmp/x, PWD=/root",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 commit 83e68d5",
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    secrets.forget()
    yield
    secrets.forget()


@pytest.mark.parametrize("secret", FORMS)
@pytest.mark.parametrize("around", ["{}", "said {} and went on", "x?a=%3D{}", '"{}",', r"\n{}\n"])
def test_secrets_of_a_known_form_are_hidden_wherever_they_stand(secret: str, around: str) -> None:
    assert secret not in redact(around.format(secret))


@pytest.mark.parametrize(("text", "secret"), PLACES, ids=[text[:40] for text, _ in PLACES])
def test_what_stands_where_a_secret_belongs_is_hidden(text: str, secret: str) -> None:
    shown = redact(text)
    assert secret not in shown
    assert STARS in shown
    assert redact(shown) == shown


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text
    assert not holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        PEM.replace("\n", "\\n"),
        "".join(f"(EngineCore pid=7) ERROR 01-02 [x.py:3] {line}\n" for line in PEM.splitlines()),
        PEM.replace("\n", "\n(Worker_TP1 pid=8) INFO somebody else's line of the log\n"),
        f"key = '{PEM!r}'",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + BODY,
    ],
)
def test_pem_blocks_are_hidden_however_a_log_breaks_them(text: str) -> None:
    for shown in (redact(text), b"".join(redact_lines(text.encode().splitlines(keepends=True))).decode()):
        assert "MIIE" not in shown
        assert "Q2FuYXJ5" not in shown
    assert redact(f"before\n{PEM}\nafter").startswith("before\n")
    assert redact(f"before\n{PEM}\nafter").endswith("\nafter")


def test_one_line_of_a_block_is_hidden_without_its_beginning() -> None:
    assert BODY not in redact(f"(EngineCore pid=7) ERROR {BODY}")


@pytest.mark.parametrize(
    "shape",
    [
        "{0}",
        "the key {0} is wrong",
        base64.b64encode(b"user:canary s3cret/+").decode(),
        base64.b64encode(b"us:canary s3cret/+").decode(),
        "canary%20s3cret%2F%2B",
        "canary+s3cret%2F%2B",
    ],
)
def test_a_known_secret_is_hidden_in_every_shape(shape: str) -> None:
    value = "canary s3cret/+"
    text = shape.format(value)
    assert redact(f"<{text}>") == f"<{text}>".replace(value, value)
    remember(value)
    shown = redact(f"<{text}>")
    assert STARS in shown
    assert "canary" not in shown
    assert len(shown) < len(text)


def test_short_values_are_not_looked_for() -> None:
    remember("EMPTY")
    assert redact("the queue is EMPTY") == "the queue is EMPTY"


def test_every_one_of_several_keys_is_hidden() -> None:
    argv = ["vllm", "serve", "m", "--api-key", "one", "two", "--port", "1", "--hf-token", "three", "m"]
    shown = ["vllm", "serve", "m", "--api-key", STARS, STARS, "--port", "1", "--hf-token", STARS, "m"]
    assert redacted(argv) == shown


def test_values_keep_their_shape() -> None:
    value = {
        "argv": ["python", "--api-key", "CANARY", "--port", "8000", "https://u:CANARY@h/"],
        "environment": {
            "HTTPS_PROXY": "http://u:CANARY@h",
            "http_proxy": "u:CANARY@h:3128",
            "PROXY_PASSWORD": "a CANARY",
            "NCCL_DEBUG": "INFO",
            "HF_TOKEN": "CANARY",
        },
        "secrets": ["HF_TOKEN", "VLLM_API_KEY"],
        "api_key": ["CANARY"],
        "tokens": 8,
        "max_tokens": "8",
        "flag": None,
    }
    assert redacted(value) == {
        "argv": ["python", "--api-key", "***", "--port", "8000", "https://***@h/"],
        "environment": {
            "HTTPS_PROXY": "http://***@h",
            "http_proxy": "***@h:3128",
            "PROXY_PASSWORD": "***",
            "NCCL_DEBUG": "INFO",
            "HF_TOKEN": "***",
        },
        "secrets": ["HF_TOKEN", "VLLM_API_KEY"],
        "api_key": ["***"],
        "tokens": 8,
        "max_tokens": "8",
        "flag": None,
    }


def test_a_text_is_hidden_before_it_is_cut() -> None:
    assert brief("https://user:a-very-long-CANARY@host/path", 22) == "https://***@host/path"


def test_colours_hide_no_secret_in_a_log() -> None:
    lines = [b"\x1b[31mfine\x1b[0m\n", b"\x1b[31mhf_abcdef\x1b[0mghij0123456789\n"]
    assert list(redact_lines(lines)) == [lines[0], f" {STARS}\n".encode()]
    assert redact("said\x1b[1mhf_abcdefghij0123456789, DB_PASS=sesame") == f"said {STARS}, DB_PASS={STARS}"


def test_bytes_that_are_no_text_stay() -> None:
    assert list(redact_lines([b"\xff\xfe a=1\n", b"HF_TOKEN=CANARY\xff\n"])) == [
        b"\xff\xfe a=1\n",
        b"HF_TOKEN=***\n",
    ]


@pytest.mark.parametrize(
    "piece",
    ["-----BEGIN ", "://", "://a:", "a:b@", "token=", "token ", "%3A%2F%2F", "sk-", "eyJ", "hf_", "cookie: ", "--api-key ",
     "Bearer ", "?key=", "&x-amz-", "authorization: ", "key_", "password='", 'api_key="\\', "[", "A" * 64, "proxy=a:", "basic a"],
)  # fmt: skip
def test_no_text_takes_more_than_its_length_in_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        redact(text)
        return time.process_time() - began

    seconds(1000)
    assert seconds(160_000) < 40 * max(seconds(20_000), 0.005)


def test_a_password_on_a_line_of_its_own_is_hidden() -> None:
    assert redact("machine x\n  login bob\n  password CANARY\n") == "machine x\n  login bob\n  password ***\n"
    assert redact("the password policy is strict") == "the password policy is strict"


def test_a_value_below_its_name_is_hidden_also_behind_the_prefix_of_a_log() -> None:
    lines = [
        "env:",
        "- name: HF_TOKEN",
        "  value: CANARY",
        "- name: NCCL_DEBUG",
        "  value: INFO",
        '"name": "API_KEY",',
        '"value": "CANARY"',
    ]
    text = "".join(f"(APIServer pid=7) {line}\n" for line in lines)
    for shown in (redact(text), b"".join(redact_lines(text.encode().splitlines(keepends=True))).decode()):
        assert "CANARY" not in shown
        assert "value: INFO" in shown
