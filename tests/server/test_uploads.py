"""What browsers send and nobody opens is bounded, for one reader and for all together."""

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.server import uploads

MIB = 2**20


@pytest.fixture
def manager() -> MemoryUploadedFileManager:
    found = MemoryUploadedFileManager("/upload")
    uploads.bound(found, of_one=64 * MIB, of_all=100 * MIB)
    return found


def send(manager: MemoryUploadedFileManager, session: str, name: str, n_bytes: int) -> int:
    """What the browser is told: 204, or why not."""
    try:
        manager.add_file(session, UploadedFileRec(name, name, "", bytes(n_bytes)))
    except HTTPException as error:
        return error.status_code
    return 204


def test_forty_files_of_one_reader_are_too_many(manager: MemoryUploadedFileManager):
    told = [send(manager, "a", str(i), 8 * MIB) for i in range(40)]
    assert told == [204] * 8 + [413] * 32
    assert send(manager, "b", "0", 8 * MIB) == 204


def test_all_readers_together_have_a_bound(manager: MemoryUploadedFileManager):
    told = [send(manager, str(i), "model", 8 * MIB) for i in range(20)]
    assert told == [204] * 12 + [413] * 8
    manager.remove_session_files("3")
    assert send(manager, "late", "model", 8 * MIB) == 204


def test_what_is_sent_again_or_taken_back_counts_once(manager: MemoryUploadedFileManager):
    for _ in range(20):
        assert send(manager, "a", "model", 40 * MIB) == 204
    manager.remove_file("a", "model")
    assert send(manager, "a", "other", 60 * MIB) == 204


def test_files_of_nothing_are_not_without_end(manager: MemoryUploadedFileManager):
    told = [send(manager, "a", str(i), 0) for i in range(2000)]
    assert told[:1000] == [204] * 1000 and told[-1] == 413
