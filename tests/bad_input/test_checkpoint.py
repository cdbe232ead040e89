"""A checkpoint that an engine could not read, or that this user may not change."""

from __future__ import annotations

import codecs
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.bad_input.refused import ONE_CARD, not_downloaded, refused, the_error
from tests.deployments import REPOSITORY, Case
from tests.odd_files import put
from tests.sshd import NoSshd, plain_user

BROKEN = {
    "cut": b'{"model_type": "deepseek_v3",',
    "bom": b'\xef\xbb\xbf{"a": 1}',
    "deep": b'{"a": ' * 500 + b"1" + b"}" * 500,
}


class TestConfig:
    """Verbs that never download say what is wrong; `up` fetches such a file again.

    The programs on the host have tests of every way in which a file may be broken; here is one of each kind.
    """

    @pytest.mark.parametrize("kind", ["cut", "huge", "pipe", "missing"])
    def test_config_json_is_not_what_an_engine_reads(self, whole: Case, kind: str) -> None:
        spoil(whole.checkpoint / "config.json", kind)
        error = refused(whole, "remediate", "PLAYBOOK", exit_code=5, code="checkpoint_broken")
        assert "config.json: " in error["message"]
        assert error["next"].startswith(f"deploy {whole.path} --host ")

    @pytest.mark.parametrize("kind", ["cut", "bom", "huge", "pipe", "deep"])
    def test_the_sidecar_alone_is_broken(self, whole: Case, kind: str) -> None:
        spoil(whole.checkpoint / "hf_quant_config.json", kind)
        alone = ("remediate", "PLAYBOOK", "--no-launch")
        error = refused(whole, *alone, exit_code=5, code="config_broken")
        assert "hf_quant_config.json " in error["message"]
        assert error["next"].startswith(f"deploy verify {whole.path}")

    @pytest.mark.parametrize("name", ["config.json", "hf_quant_config.json"])
    def test_a_byte_order_mark_is_mended_where_the_original_can_be_fetched(
        self, whole: Case, name: str
    ) -> None:
        whole.content |= ONE_CARD
        whole.write()
        add_mark(whole.checkpoint / name)
        left = whole.deploy("PLAYBOOK", "--json")
        assert left.code == 0, left.out + left.err
        assert whole.hub.fetched() == [name]
        assert not whole.config(name).startswith(codecs.BOM_UTF8)
        assert whole.actions() == ["patch", "launch", "outcome"]

    def test_a_byte_order_mark_without_an_original_stays(
        self, whole: Case, repositories: Path, tmp_path: Path
    ) -> None:
        own = tmp_path / "hub"
        shutil.copytree(repositories, own)
        (own / REPOSITORY / "hf_quant_config.json").unlink()
        whole.hub.repositories = own
        sidecar = whole.checkpoint / "hf_quant_config.json"
        add_mark(sidecar)
        before = sidecar.read_bytes()
        error = not_downloaded(whole, code="checkpoint_broken")
        assert "hf_quant_config.json: not JSON (Unexpected UTF-8 BOM" in error["message"]
        assert error["next"] == f"ls -l {sidecar}  # on {whole.server.alias}"
        assert sidecar.read_bytes() == before

    def test_no_edit_is_planned_behind_a_byte_order_mark(self, whole: Case) -> None:
        add_mark(whole.checkpoint / "config.json")
        error = refused(whole, "diff", "PLAYBOOK", exit_code=5, code="config_broken")
        assert "config.json begins with a byte order mark" in error["message"]

    @pytest.mark.parametrize("kind", ["pipe", "loop"])
    def test_what_is_no_file_is_fetched_again(self, whole: Case, kind: str) -> None:
        whole.content |= ONE_CARD
        whole.write()
        original = whole.config("generation_config.json")
        put(whole.checkpoint / "generation_config.json", kind)
        left = whole.deploy("PLAYBOOK", "--json")
        assert left.code == 0, left.out + left.err
        assert whole.config("generation_config.json") == original

    def test_an_index_that_is_none(self, whole: Case) -> None:
        index = '{"metadata": {"total_size": Infinity}, "weight_map": {"a": ["b"]}}'
        (whole.checkpoint / "model.safetensors.index.json").write_text(index)
        for verb in ("remediate", "verify"):
            left = whole.deploy(verb, "PLAYBOOK", "--json")
            assert left.code == 5, left.out + left.err
            assert "model.safetensors.index.json: names the shard ['b']" in left.out.replace(
                '", "why": "', ": "
            )

    def test_sizes_that_are_none_are_passed_over(self, whole: Case) -> None:
        index = whole.checkpoint / "model.safetensors.index.json"
        told = json.loads(index.read_text())
        index.write_text(json.dumps({**told, "metadata": {"total_size": float("inf")}}))
        config = json.loads(whole.config())
        odd = {
            "num_hidden_layers": 10**400,
            "kv_lora_rank": -1,
            "torch_dtype": ["bfloat16"],
            "head_dim": float("nan"),
        }
        (whole.checkpoint / "config.json").write_text(json.dumps({**config, **odd}))
        left = whole.deploy("plan", "PLAYBOOK", "--json")
        assert left.code == 0, left.out + left.err
        assert json.loads(left.out)["fit"]["verdict"] == "unknown"

    def test_a_shard_whose_header_says_what_no_header_can(self, whole: Case) -> None:
        shard = whole.checkpoint / "model-00002-of-00006.safetensors"
        header = json.dumps(
            {"a": {"dtype": ["F32"], "shape": [10**4000] * 99, "data_offsets": [0, 10**4000]}}
        ).encode()
        shard.write_bytes(len(header).to_bytes(8, "little") + header)
        error = refused(whole, "remediate", "PLAYBOOK", exit_code=5, code="checkpoint_broken")
        assert "tensor a has no sound dtype, shape and data_offsets" in error["message"]

    def test_no_diff_of_what_is_not_there(self, whole: Case) -> None:
        (whole.checkpoint / "config.json").unlink()
        error = refused(whole, "remediate", "PLAYBOOK", "--no-launch", exit_code=5, code="config_missing")
        assert f"there is no config.json in {whole.checkpoint}" in error["message"]

    @pytest.mark.parametrize(
        ("name", "key"), [("config.json", "kv_cache_scheme"), ("hf_quant_config.json", "kv_cache_quant_algo")]
    )
    def test_a_key_that_stands_twice(self, whole: Case, name: str, key: str) -> None:
        path = whole.checkpoint / name
        before, found, after = path.read_text().partition(f'"{key}"')
        path.write_text(f'{before}"{key}": null, {found}{after}')
        error = refused(whole, exit_code=5, code="config_broken")
        assert f"{name} line " in error["message"] and f"'{key}' stands twice" in error["message"]
        assert str(whole.checkpoint) in error["next"]

    def test_line_ends_of_windows_are_kept(self, whole: Case) -> None:
        originals = {}
        for name in ("config.json", "hf_quant_config.json"):
            originals[name] = whole.config(name).replace(b"\n", b"\r\n")
            (whole.checkpoint / name).write_bytes(originals[name])
        left = whole.deploy("remediate", "PLAYBOOK", "--no-launch")
        assert left.code == 0, left.err
        for name, original in originals.items():
            lines = whole.config(name).splitlines(keepends=True)
            assert whole.config(name) != original
            assert all(line.endswith(b"\r\n") for line in lines[:-1])
        assert whole.deploy("revert", "PLAYBOOK").code == 0
        assert {name: whole.config(name) for name in originals} == originals


class TestFolder:
    def test_a_checkpoint_folder_that_is_a_file(self, case: Case) -> None:
        case.checkpoint.write_text("precious")
        error = not_downloaded(case, code="checkpoint_folder")
        assert f"{case.checkpoint} is a file" in error["message"]
        assert case.checkpoint.read_text() == "precious"
        error = refused(case, "remediate", "PLAYBOOK", exit_code=5, code="no_checkpoint")
        assert "is not a folder" in error["message"]

    def test_a_checkpoint_of_another_user(self, whole: Case) -> None:
        give_away(whole.checkpoint)
        error = refused(whole, exit_code=4, code="consent_missing")
        assert "foreign-folder" in error["message"]
        assert error["next"].endswith("--consent foreign-folder")

    def test_nothing_is_mended_in_a_checkpoint_of_another_user(self, whole: Case) -> None:
        config = whole.checkpoint / "config.json"
        add_mark(config)
        give_away(whole.checkpoint)
        before = (config.read_bytes(), config.stat())
        left = whole.deploy("PLAYBOOK", "--json")
        assert left.code == 4, left.out + left.err
        error = the_error(left)
        assert error["code"] == "foreign_folder"
        assert error["next"].endswith("--consent foreign-folder")
        assert (config.read_bytes(), config.stat()) == before
        assert whole.hub.fetched() == []

    def test_a_checkpoint_that_may_only_be_read(self, plain_case: Case) -> None:
        plain_case.checkpoint.chmod(0o555)
        try:
            alone = ("remediate", "PLAYBOOK", "--no-launch", "--json")
            before = {path.name: path.read_bytes() for path in plain_case.checkpoint.iterdir()}
            left = plain_case.deploy(*alone)
            assert left.code == 4, left.out + left.err
            error = the_error(left)
            assert error["code"] == "not_writable"
            assert f"cannot write in {plain_case.checkpoint}" in error["message"]
            assert error["next"].endswith("--model-dir DIR")
            assert {path.name: path.read_bytes() for path in plain_case.checkpoint.iterdir()} == before
            assert json.loads(plain_case.deploy("status", "PLAYBOOK", "--json").out)["patches"] == []
        finally:
            plain_case.checkpoint.chmod(0o755)


def give_away(folder: Path) -> None:
    """To a user without privileges; skips the test where there can be none."""
    try:
        stranger = plain_user()
    except NoSshd as reason:
        pytest.skip(str(reason))
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, stranger)


def add_mark(path: Path) -> None:
    """As some editors save a file."""
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())


def spoil(path: Path, kind: str) -> None:
    """Make a config file one of the ways in which it may be broken."""
    if kind in BROKEN:
        path.write_bytes(BROKEN[kind])
    elif kind == "huge":
        os.truncate(path, 100 << 20)
    else:
        put(path, kind)
