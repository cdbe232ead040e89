from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests import yaml_data


def test_a_case_that_has_the_name_of_another_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("one: {a: 1}\ntwo: {a: 2}\n")
    assert yaml_data.load(tmp_path / "cases.yaml") == {"one": {"a": 1}, "two": {"a": 2}}
    (tmp_path / "cases.yaml").write_text("one: {a: 1}\ntwo: {a: 2}\none: {a: 3}\n")
    with pytest.raises(yaml.YAMLError, match="twice"):
        yaml_data.load(tmp_path / "cases.yaml")
