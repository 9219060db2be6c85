"""What browsers send and nobody has opened yet is in memory: so much of one reader, and of all."""

import threading
from http import HTTPStatus

from starlette.exceptions import HTTPException
from streamlit import config
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.server import settings
from pages.server.once import once

OF_ONE, SHARE_OF_ALL, LEAST = 64 * 2**20, 4, 2**16  # bytes; what the smallest file counts as


@once
def bound_those_of_readers() -> None:
    """Once per process, where a server runs: room for two of the largest files of a reader."""
    manager = Runtime.instance().uploaded_file_mgr if Runtime.exists() else None
    if isinstance(manager, MemoryUploadedFileManager):
        of_one = max(OF_ONE, 2 * config.get_option("server.maxUploadSize") * 2**20)
        of_all = max(of_one, settings.memory_budget("cpu") // SHARE_OF_ALL)
        bound(manager, of_one=of_one, of_all=of_all)


def bound(manager: MemoryUploadedFileManager, *, of_one: int, of_all: int) -> None:
    """From now on a file that goes beyond these bytes is refused; Streamlit counts, and no more."""
    add, lock = manager.add_file, threading.Lock()

    def add_if_there_is_room(session_id: str, file: UploadedFileRec) -> None:
        with lock:
            others = {
                (session, each.file_id): max(LEAST, len(each.data))
                for session, files in [*manager.file_storage.items()]
                for each in [*files.values()]
                if (session, each.file_id) != (session_id, file.file_id)
            }
            n_bytes = max(LEAST, len(file.data))
            of_this_one = sum(n for (session, _id), n in others.items() if session == session_id)
            if of_this_one + n_bytes > of_one or sum(others.values()) + n_bytes > of_all:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too many files")
            add(session_id, file)

    manager.add_file = add_if_there_is_room  # type: ignore[method-assign]
