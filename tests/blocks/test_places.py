"""Folders that may be opened: below the roots, and nowhere else."""

import os
from pathlib import Path

import pytest

from blocks import ConfigError
from blocks.weights.places import below, fingerprint, listed, stamp


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("gpt2", "owner/bert", ".hidden", "a/b/c/too-deep", "no-model"):
        (root / name).mkdir(parents=True)
        if name != "no-model":
            (root / name / "config.json").write_text("{}")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.json").write_text("{}")
    (root / "owner" / "small.Q4_1.gguf").write_bytes(b"GGUF")
    (root / "owner" / "leads.gguf").symlink_to(root / "owner" / "small.Q4_1.gguf")
    (root / "owner" / "folder.gguf").mkdir()
    (root / "leads-out").symlink_to(outside)
    (root / "owner" / "leads-in").symlink_to(root / "gpt2")
    return root


def test_models_below_the_roots_are_listed_and_links_are_not(root: Path):
    assert [*listed([root])] == ["gpt2", "owner/bert", "owner/small.Q4_1.gguf"]
    assert listed([root / "gone", root])["gpt2"] == root / "gpt2"
    assert listed([]) == {}


@pytest.mark.parametrize("name", ["gpt2", "owner/bert", "owner/small.Q4_1.gguf"])
def test_a_name_leads_to_its_folder(root: Path, name: str):
    assert below([root / "gone", root], name) == root / name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "..",
        ".",
        "../outside",
        "gpt2/../../outside",
        "gpt2/..",
        "/etc",
        "leads-out",
        "owner/leads-in",
        "owner/leads.gguf",
        ".hidden",
        "gpt2/config.json",
        "gpt2\0",
        "gpt2\\..",
        "x" * 5000,
        "a/b/c/too-deep",
        "gpt2@1",
        "\ud800",
    ],
    ids=ascii,
)
def test_whatever_leads_elsewhere_leads_nowhere(root: Path, name: str):
    assert below([root], name) is None


def test_the_stamp_and_the_fingerprint_change_with_the_files(root: Path, tmp_path: Path):
    folder, copy = root / "gpt2", tmp_path / "copy"
    copy.mkdir()
    for each in (folder, copy):
        (each / "config.json").write_text("{}")
        (each / "model.safetensors").write_bytes(b"12345678")
    first, digest = stamp(folder), fingerprint(folder)
    assert fingerprint(copy) == digest
    (folder / "notes.txt").write_text("nothing that is read")
    assert (stamp(folder), fingerprint(folder)) == (first, digest)
    (folder / "model.safetensors").write_bytes(b"12345679")
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert stamp(folder) != first and fingerprint(folder) != digest
    assert stamp(root / "gone") == ()
    (copy / "tokenizer.json").symlink_to(folder / "config.json")
    with pytest.raises(ConfigError, match="points outside the folder"):
        fingerprint(copy)
