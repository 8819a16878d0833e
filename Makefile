# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo demo-fixed test systems lint types contracts check nightly bench docs clean

demo: $(VENV)/.runtime            ## the whole job on the bundled three-node store
	@$(BIN)/refute demo

demo-fixed: $(VENV)/.runtime      ## the same plan on the mended store: nothing may FAIL
	@$(BIN)/refute demo --fixed

test: $(VENV)/.dev                ## unit and property tests; a third of them wait, so three workers suit two cores
	$(BIN)/pytest -q -n 3 --dist worksteal -m "not systems and not nightly"

systems: $(VENV)/.dev             ## real servers; needs what .ci/run installs
	$(BIN)/pytest -q -m systems

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev           ## the rooms and their directions
	$(BIN)/lint-imports

check: lint types contracts test

nightly: $(VENV)/.dev             ## 100,000 small histories a checker, long schedules
	$(BIN)/pytest -q -m nightly

bench: $(VENV)/.dev
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) dist build

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "refute needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 69; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime pyproject.toml
	$(BIN)/python -m pip install -q "pip>=25.1"
	$(BIN)/python -m pip install -q --group dev
	@touch $@
