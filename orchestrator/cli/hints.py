"""Which `deploy` command is typed next: after an error, by its code and what it knows, or beside a result?

A command of the host's own (`nvidia-smi  # on gpu7`), or one that opens a file, stands with the error already.
"""

from __future__ import annotations

import shlex
import string
import sys
from collections.abc import Callable, Mapping, Sequence

from orchestrator.base.errors import CheckpointError, DeployError
from orchestrator.cli.typed import amended, as_typed, on_group, retyped
from orchestrator.on_host.secrets.secrets import redact

Forms = Mapping[str, str | tuple[str, ...]]
"""Commands by code; of several the first all of whose names are known. `{command}` is the command that was typed,
`{asked}` the playbook and the host with every option that leads to the same ones, other names are what the error knows."""

ELSEWHERE = "deploy stop {asked}  # then up again with --set port=PORT"
"""Where somebody else's server answers on the port of a launch of ours."""
AFTER: Forms = {
    # the command line, playbooks, patches, logs
    "unknown_consent": "deploy up --help",
    "host_name": "deploy up --help",
    "unknown_hosts": ("{command} --hosts {near}", "deploy up --help"),
    "hosts_file": "deploy up --help",
    "invalid_option": ("deploy {verb} --help", "deploy show {playbook}"),
    "unknown_playbook": "deploy list playbooks",
    "invalid_playbook": "deploy list playbooks",
    "unknown_patch": "deploy list patches",
    "unknown_model": "deploy list playbooks",
    "no_config": "deploy list playbooks",
    "unknown_revision": "{command} --set model.revision=main",
    "hub_unread": "{command}",
    "not_a_model": "deploy show {playbook}",
    "file_exists": "{command} --output FILE",
    "invalid_patch": "deploy list patches",
    "unknown_id": "deploy list playbooks",
    "unknown_fault": (
        "deploy rehearse {playbook} {options} --fault {fault}",
        "deploy rehearse {playbook} --fault {fault}",
        "deploy rehearse {options} --fault list",
        "deploy rehearse --fault list",
    ),
    "unreadable_log": ("deploy diagnose {near}", "deploy diagnose FILE"),
    "one_log_only": "deploy diagnose FILE",
    "not_one_launch": "deploy diagnose FILE",
    "no_engine_log": "deploy diagnose vllm.log",
    "no_log_to_pack": "deploy diagnose FILE --bundle",
    "wheels_folder": "deploy engine install --help",
    "wheel_broken": "{command}",
    "no_host": "deploy plan --help",
    "nodes_missing": "{command} --host HOST --as-one",
    "host_twice": "deploy {verb} --help",
    "part_of_group": "{whole}",
    "serves_otherwise": "deploy restart {asked}",
    "as_one_offline": "deploy plan --help",
    "nodes_differ": ("{command} --set {setting}", "deploy show {playbook}"),
    "unknown_gpu": ("{command} --gpu {gpu}", "deploy plan --help"),
    "facts_file": "deploy doctor --host HOST --save FILE",
    "explain_alone": "deploy logs PLAYBOOK --host HOST --explain",
    # the connection, and who works on the host
    "host_key_unknown": "{command} --accept-host-key {fingerprint}",
    "connection_lost": "{command}",
    "host_vanished": "{command}  # once it is back",
    "shell_lost": "{command}",
    "locked": "deploy status {asked}",
    "lock_lost": "{command}",
    "lock_failed": "{command} -v",
    # what a launch needs
    "no_engine": (
        "{command} --set engine.python={python}",
        "{command} --set engine.install={install}",
        "{command} --set engine.python=PATH",
    ),
    "weights_too_large": (
        "{command} --gpu {gpu} --set {setting}",
        "{command} --set {setting}",
        "deploy show {playbook}",
        "deploy list playbooks",
    ),
    "option_unknown": (
        "{retyped}",
        "{command} --set arguments.{unset}=null --engine-arg {argument}",
        "{command} --set arguments.{unset}=null",
    ),
    "option_not_there": ("{retyped}", "{command} --set arguments.{unset}=null"),
    "option_value": (
        "{command} --set {setting}",
        "{retyped}",
        "{command} --engine-arg {argument}",
        "{command} --set arguments.{unset}=null",
    ),
    "architecture_not_there": ("{command} --vllm {release}", "{command} --set engine.install={install}"),
    "gpus_missing": "{command} --gpu {gpu}",
    "gpu_memory": "{command} --gpu {gpu}",
    "engine_version": (
        "{command} --vllm {release}",
        "{command} --set engine.python={python}",
        "{command} --set engine.install={install}",
        "{command} --set engine.python=PATH",
    ),
    "gpu_busy": (
        "{command} --set {narrower} --set {needs} --env CUDA_VISIBLE_DEVICES={cards}",
        "{command} --set {narrower} --env CUDA_VISIBLE_DEVICES={cards}",
        "{command} --env CUDA_VISIBLE_DEVICES={cards}",
        "{command} --set {setting} --set {shorter}",
        "{command} --set {setting}",
    ),
    "foreseen": ("{command} --set {setting}", "{command} --no-patch {patch}"),
    "disk_full": "{command} --model-dir DIR",
    "port_taken": "{command} --set port={port}",
    "port_shared": ELSEWHERE,
    "name_taken": "{command} --name NAME",
    "consent_missing": "{command} --consent {consent}",
    # what stands between hosts that serve one model together
    "engines_differ": "{command} --set engine.install={install}",
    "pythons_differ": "{command} --set engine.install={install}",
    "files_differ": "{command} --consent {consent}",
    "options_differ": "deploy plan {asked}",
    "meeting_port_taken": "{command} --engine-arg {argument}",
    # the checkpoint
    "checkpoint_broken": "deploy {asked}",
    "config_broken": "deploy verify {asked}",
    "config_missing": "deploy {asked}",
    "config_shape": ("deploy {asked} --engine-arg {argument}", "deploy {asked}"),
    "hub_not_found": "deploy show {playbook}",
    "hub_token_withheld": "{command} --consent {consent}",
    "permission": "deploy {asked} --model-dir DIR",
    "checkpoint_folder": "deploy {asked} --model-dir DIR",
    "foreign_files": "deploy {asked} --model-dir DIR",
    "foreign_folder": "{command} --consent foreign-folder",
    "checkpoint_busy": "deploy status {asked}",
    "other_download": "deploy status {asked}",
    # the launch
    "no_launch": "deploy {asked}",
    "no_key": "{command} --env {variable}",
    "server_busy": "deploy status {asked}",
    "server_refuses": "deploy status {asked}",
    "foreign_server": ELSEWHERE,
    "no_remedy_left": "deploy logs {asked}",
    "not_ready": "deploy logs {asked}",
    "no_completion": ("deploy {verb} {asked}", "deploy logs {asked}"),
    "unknown_cause": ("deploy {verb} {asked}", "deploy logs {asked}"),
    "attempts_spent": "deploy stop {asked}    (a new incident begins after it)",
    "patch_not_in_force": "deploy status {asked}",
}
AFTER_A_PROGRAM: Forms = {
    "haproxy_socket": "{command} --haproxy SOCKET",
    "host_script": "{command} -v",
    "host_answer": "{command} -v",
    "foreign_folder": "{command} --consent foreign-folder",
    "shared_checkpoint": "{command} --consent shared-checkpoint",
    "not_writable": "{command} --model-dir DIR",
    "no_checkpoint": "{command} --model-dir DIR",
    "checkpoint_folder": "{command} --model-dir DIR",
    "config_missing": "{command} --model-dir DIR",
    "config_too_large": "{command} --model-dir DIR",
    "permission": "{command} --model-dir DIR",
    "already_running": "{command}",
    "no_launch": "{command}",
    "backup_missing": "{command} --forget",
    "not_started": "{command}",
    "no_room": "{command}",
    "changed_meanwhile": "{command}",
    "checkpoint_busy": "{command}",
    "engine_in_use": "{command} --dry-run",
    "engine_kept": "{command}",
    "engine_busy": "{command}",
    "wheels_busy": "{command}",
    "no_such_engine": "{command} --dry-run",
}
"""After a refusal of a program on the host (`on_host/`): its error knows the `program`."""
OF_A_FLEET: Forms = {
    "no_fleet": "deploy fleet {asked} --replicas 2",
    "no_replica": "deploy fleet status {asked}",
    "all_stopped": "deploy fleet {asked}",
    "locked": "deploy fleet status {asked}",
    "haproxy_backend": "deploy fleet config {asked} --router haproxy",
    "min_ready": "{command} --min-ready {ready}",
    "not_drained": "{command} --drain-timeout 3600",
    "not_back": "{command}",
    "not_admitted": "{command}",
    "not_withdrawn": "{command}",
    "no_completion_routed": "deploy fleet logs {asked} --router",
    "fleet_as_one": ("deploy {asked} --as-one  # one model over {hosts} hosts", "deploy fleet --help"),
    "fleet_cards": ("{command} --gpus {gpus}", "deploy fleet stop {asked}"),
    "fleet_port": "{command} --set {setting}",
    "fleet_room": ("{command} --replicas {replicas}", "deploy doctor --host {host}"),
    "replica_cards": "{command} --gpus 1",
    "replica_twice": "deploy fleet --help",
}
"""Where the command was for a `fleet`; the words of `{asked}` name all of its hosts."""
OF_A_REPLICA: Forms = {
    "gpu_busy": "{command}",  # which gives it other cards, where there are
    "port_taken": "{command} --set port=PORT",
    "port_shared": "{command} --set port=PORT",
    "foreign_server": "{command} --set port=PORT",
    "checkpoint_broken": "{command}",
    "config_missing": "{command}",
    "config_shape": ("{command} --engine-arg {argument}", "{command}"),
    "permission": "{command} --model-dir DIR",
    "checkpoint_folder": "{command} --model-dir DIR",
    "foreign_files": "{command} --model-dir DIR",
    "no_completion": "deploy logs {asked}",
    "unknown_cause": "deploy logs {asked}",
}
"""Where it was one `replica` of a fleet that failed: the command is the fleet's, and what it sets is for all of them. The words
of `{asked}` name that one."""
OF_A_CHECKPOINT = "deploy {asked}"
"""After any other error of the checkpoint: the main job fetches what is missing and resumes what was cut off."""


def following(error: DeployError, asked: str | None = None) -> str | None:
    """The command to type after an error and the command that this process was started with, without secrets."""
    return redact(after(error, as_typed(sys.argv[1:]), asked) or "") or None


def after(error: DeployError, typed: str, asked: str | None = None) -> str | None:
    """The command to type after an error; `typed` is the command line that led to it, `asked` the words by which the
    deployment was asked for, where the error does not know them. None where no command would help."""
    if error.next_command is not None:
        return error.next_command
    known = {name: shlex.quote(value) for name, value in error.known.items()} | {"command": typed}
    if "typed" in known:
        known["retyped"] = retyped(typed, error.known["typed"], error.known.get("argument"))
    if "group" in error.known:
        known["whole"] = on_group(typed, shlex.split(error.known["group"]))
    if words := error.asked or asked:
        known["asked"] = words
    own = OF_A_REPLICA if "replica" in known else OF_A_FLEET if "fleet" in known else {}
    forms = own.get(error.code) or (AFTER_A_PROGRAM if "program" in known else AFTER).get(error.code)
    if forms is None:
        onward = "{command}" if "replica" in known else OF_A_CHECKPOINT
        forms = onward if isinstance(error, CheckpointError) else ()
    for form in (forms,) if isinstance(forms, str) else forms:
        if names(form) <= known.keys():
            more = form.removeprefix("{command} ")
            return form.format_map(known) if more == form else amended(typed, more.format_map(known))
    return None


def for_group(hosts: Sequence[str]) -> str:
    """The command that this process was started with, for all of the hosts that serve as one."""
    return redact(on_group(as_typed(sys.argv[1:]), hosts))


def names(form: str) -> set[str]:
    """What has to be known for a command of this form."""
    return {name for _, name, _, _ in string.Formatter().parse(form) if name}


def command_for(asked: str) -> Callable[[str], str]:
    """Gives the command by which a verb is asked for the deployment that these words name; `up` is the main job."""
    return lambda verb: f"deploy {asked}" if verb == "up" else f"deploy {verb} {asked}"


def packing(*files: str) -> str:
    """The command that packs the logs of a launch which nobody can explain."""
    return f"deploy diagnose {' '.join(files)} --bundle"
