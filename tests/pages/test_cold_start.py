"""A class opens the link of a server that has just started: all import at once."""

import ast
import subprocess
import sys

import pytest
from opened import PAGES, ROOT

AT_ONCE = """
import ast, pathlib, sys, threading

def imports(page):
    tree = ast.parse(pathlib.Path(page).read_text())
    tree.body = [each for each in tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    return compile(tree, page, "exec")

def open_page(code):
    ready.wait()
    try:
        exec(code, {})
    except Exception as error:
        faults.append(f"{code.co_filename}: {error!r}")

import streamlit
sys.setswitchinterval(1e-5)
faults, codes = [], [imports(page) for page in sys.argv[1:]]
ready = threading.Barrier(len(codes))
threads = [threading.Thread(target=open_page, args=(code,)) for code in codes]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("\\n".join(faults))
"""


@pytest.mark.exhaustive
def test_all_pages_are_opened_at_once_on_a_cold_server():
    command = [sys.executable, "-c", AT_ONCE, *PAGES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("page", PAGES)
def test_every_page_imports_first_what_readers_wait_for(page: str):
    _docstring, first, *_rest = ast.parse((ROOT / page).read_text()).body
    assert ast.unparse(first) == "import pages.page.entrance"
