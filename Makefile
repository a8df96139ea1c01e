# make run   starts the app          make check   format, lint, types, layers
# make test  every check             make format  rewrites the code in the house style
# make quick the tests that the changes since the last commit can reach, by imports
# make test-long  what is too slow for every change; docs/testing.md says what that is
# make clean removes the environment and the caches; make pictures takes the pictures of the documents
# make docs  builds the documents as a site into build/site and fails on any broken link
# make container builds the image with docker or podman, runs it and checks what docs/deployment.md promises of it
# make bench-gpu prints the tables of benchmarks/engine.py for a GPU, where there is one
# make lock writes down every version; make audit looks for known vulnerabilities; make licences lists licences
# Needs Python 3.11 or newer (PYTHON=python3.12 picks one) and works with GNU make 3.81.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-long quick check format clean browser pictures docs container bench-gpu lock audit licences
.NOTPARALLEL:

run: $(VENV)/installed-run
	$(BIN)/python -m headscope app $(if $(PORT),--port $(PORT))

test: browser $(VENV)/installed-docs
	$(BIN)/python -m tools.checks

test-long: browser $(VENV)/installed-docs
	$(BIN)/python -m tools.checks --long

quick: $(VENV)/installed-dev
	$(BIN)/python -m tools.affected

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

browser: $(VENV)/installed-dev
	$(BIN)/python -m tools.browser

pictures: browser
	$(BIN)/python -m tools.screenshots

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html"

container: | $(BIN)/pip
	$(BIN)/python -m tools.try_container

bench-gpu: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.engine --device gpu

lock: | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check packaging -c requirements/all.lock
	$(BIN)/python -m tools.lock

audit: $(VENV)/installed-dev
	$(BIN)/python -m tools.audit

licences: | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check packaging -c requirements/all.lock
	$(BIN)/python -m tools.licences

clean:
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than the requirements they stand for, so a second start installs nothing.
$(VENV)/installed-run: requirements.txt requirements/all.lock | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -c requirements/all.lock
	@touch $@

$(VENV)/installed-dev: requirements.txt requirements/oidc.txt requirements/ray.txt requirements/dev.txt requirements/all.lock | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt -c requirements/all.lock
	@touch $@ $(VENV)/installed-run

$(VENV)/installed-docs: requirements/docs.txt requirements/all.lock | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt -c requirements/all.lock
	@touch $@

$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || \
	  { echo "Headscope needs Python 3.11 or newer; $(PYTHON) was not found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Headscope needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) lacks the venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Installing Headscope into $(VENV); the first time this takes a few minutes."
	$(PYTHON) -m venv $(VENV)
