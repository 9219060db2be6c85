"""What whoever serves is told of lessons that cannot be read."""

from pages.server import metrics


def test_lessons_of_the_folder_that_cannot_be_read_are_told_with_their_faults(
    tmp_path, monkeypatch
):
    (tmp_path / "bad.en.md").write_text("no head", "utf-8")
    monkeypatch.setenv("BLOCKSCOPE_LESSONS", str(tmp_path))
    found = [each for each in metrics.of_lessons() if each.name == "blockscope_lesson_faults"]
    assert [(each.value, each.labels) for each in found] == [(1, {"file": "bad.en.md"})]
    monkeypatch.delenv("BLOCKSCOPE_LESSONS")
    assert [*metrics.of_lessons()] == []
