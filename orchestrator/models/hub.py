"""What does the Hub say of a model: its files with their sizes, and its config files? A few kilobytes, from this machine."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from orchestrator.base import hub_login
from orchestrator.base.errors import CheckpointError, DeployError, PreflightRefused, UsageError
from orchestrator.models.published import TOKENIZER, Published
from orchestrator.on_host.checkpoint import hub_errors
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.on_host.secrets import hub_token
from orchestrator.on_host.secrets.secrets import redact
from orchestrator.survey.checkpoint import flaw

if TYPE_CHECKING:
    from huggingface_hub import HfApi

READ = (CONFIG, "hf_quant_config.json", "generation_config.json", TOKENIZER)
LARGEST_BYTES = 4 << 20
"""A config file beyond this is not read here."""
SECONDS = 10.0


def read(
    repository: str, revision: str, environment: Mapping[str, str], *, token_consent: bool = False
) -> Published:
    """The model as the Hub has it, or the mirror that HF_ENDPOINT names in this environment.

    The token is that of the environment, or the one that `hf auth login` left; it goes to the Hub alone, without `token_consent`. Raises
    UsageError("unknown_model", "unknown_revision"), CheckpointError("hub_gated", "hub_auth", "hub_unread", "no_config", "config_broken"),
    PreflightRefused("hub_token_withheld").
    """
    from huggingface_hub import HfApi

    place = hub_token.place(environment)
    own = hub_login.token(environment)
    sent = token_consent or hub_token.trusted(place)
    api = HfApi(
        endpoint=environment.get("HF_ENDPOINT") or hub_token.HUB, token=own if own and sent else False
    )
    try:
        return _read(api, repository, revision)
    except DeployError:
        raise
    except Exception as error:  # the library's, its transport's and the system's, told apart by their names
        failure = _failure(error, repository, revision, hub_token.without_password(place))
        if own and not sent and failure.code in ("hub_gated", "hub_auth"):
            failure = _withheld(failure)
        raise failure from error


def _read(api: HfApi, repository: str, revision: str) -> Published:
    listing = api.model_info(repository, revision=revision, files_metadata=True, timeout=SECONDS)
    commit = listing.sha or revision
    files = {file.rfilename: file.size or 0 for file in listing.siblings or ()}
    if CONFIG not in files:
        raise CheckpointError(
            "no_config",
            f"{repository} has no {CONFIG}, by which an engine knows a model: {len(files)} files at {commit[:12]}",
        )
    wanted = [name for name in READ if name in files and files[name] <= LARGEST_BYTES]
    with ThreadPoolExecutor(len(READ)) as pool:  # each is a round trip, and to the Hub a long one
        contents = list(pool.map(lambda name: _bytes(api, repository, commit, name), wanted))
    configs = dict(zip(wanted, contents, strict=True))
    if reason := flaw(configs.get(CONFIG, b"")):
        raise CheckpointError("config_broken", f"{repository}: {CONFIG} at {commit[:12]} {reason}")
    return Published(repository, revision, commit, files, configs)


def _bytes(api: HfApi, repository: str, commit: str, name: str) -> bytes:
    """By the library's own client, not by `hf_hub_download`: that asks twice, shows bars, and keeps a copy in a cache."""
    from huggingface_hub import hf_hub_url, utils

    url = hf_hub_url(repository, name, revision=commit, endpoint=api.endpoint)
    headers = utils.build_hf_headers(token=api.token)  # type: ignore[attr-defined]
    answer = utils.get_session().get(url, headers=headers, timeout=SECONDS)  # type: ignore[attr-defined]
    utils.hf_raise_for_status(answer)  # type: ignore[attr-defined]
    return bytes(answer.content)


def _withheld(failure: DeployError) -> DeployError:
    reason = f"{failure.message}; a token is at hand and is not sent there without consent"
    return PreflightRefused("hub_token_withheld", reason, consent="token-to-endpoint")


def _failure(error: Exception, repository: str, revision: str, place: str) -> DeployError:
    code = hub_errors.code_of(error)
    names = {link.__name__ for link in type(error).__mro__}
    if "RevisionNotFoundError" in names:
        return UsageError(
            "unknown_revision", f"{repository} has no branch, tag or commit {revision!r} at {place}"
        )
    if code == "hub_not_found":
        return UsageError(
            "unknown_model",
            f"{repository} is neither a playbook's file nor a model at {place}, or a token is needed to see it",
        )
    reason = redact(hub_errors.sentence_of(error))
    if code == "hub_gated":
        return CheckpointError(
            code,
            f"{repository} is gated at {place}, and its terms were not accepted for this token: {reason}",
            next_command=f"hf auth login  # once access is granted at {hub_token.HUB}/{repository}",
        )
    if code == "hub_auth":
        return CheckpointError(code, f"{repository}: {reason}", next_command="hf auth login")
    return CheckpointError("hub_unread", f"{repository} could not be read at {place}: {reason}")
