# Every verb works from a bare clone, as root or with sudo, and twice in a row.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What `make run` needs of the system, and what the tests need besides.
RUN_PACKAGES  := python3-venv smartmontools fio
TEST_PACKAGES := $(RUN_PACKAGES) prometheus prometheus-node-exporter openssl curl e2fsprogs util-linux gcc libc6-dev prometheus-alertmanager
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help run venv dev test check format golden docs corpus soak dashboards bench clean packages test-packages

help:  ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: packages venv  ## Install what is needed and watch this host on 127.0.0.1:10177 (ARGS=... for flags, PROBE_DIR=... for probes)
	@mkdir -p var
	@printf '[probe]\ndirectory = "%s"\nfirst_delay_seconds = 5\n' '$(abspath $(PROBE_DIR))' > var/probe.toml
	@exec $(BIN)/ssd-exporter --state.directory=var $(if $(PROBE_DIR),--config.file=var/probe.toml) $(ARGS)

venv: $(VENV)/.installed  ## Make .venv with the command ssd-exporter in it

dev: $(VENV)/.installed-dev  ## The same, with what the tests need

test: test-packages dev  ## Run the whole test suite (ARGS=... for pytest)
	$(BIN)/pytest $(ARGS)

check: dev  ## Lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.11 -p dashboards

format: dev  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: dev  ## Write tests/hosts/*/expected.prom anew; read the difference before you commit it
	$(BIN)/python -m tests.hosts

docs: dev  ## Write METRICS.md anew from the catalogue
	$(BIN)/python -m exporter.metrics > METRICS.md

dashboards: dev  ## Write dashboards/*.json anew; after a change of alerts/thresholds.yml too
	$(BIN)/python -m dashboards

soak: test-packages dev  ## kill -9 of daemon and agent at 200 random moments (3 minutes)
	SSD_ROUNDS=200 $(BIN)/pytest --timeout=1800 tests/end_to_end/test_kill.py

corpus: dev  ## Read real smartctl outputs (../shared/smartctl-corpus) and compare with what is expected
	$(BIN)/python -m tests.corpus

bench: test-packages dev  ## Measure speed and size beside Debian's node_exporter (10 minutes)
	$(BIN)/python -m bench

clean:  ## Remove what was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

packages:
	@./packages.sh $(RUN_PACKAGES)

test-packages:
	@./packages.sh $(TEST_PACKAGES)

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "make: $(PYTHON) is older than Python 3.10; set PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || ./packages.sh python3-venv
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "make: no venv can be made; install python3-venv" >&2; exit 2; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable . || \
	  { echo "make: the Python packages cannot be installed; is a package index reachable?" >&2; exit 2; }
	@# As pip does with what it copies: who compiles when it starts keeps a megabyte of it.
	@$(BIN)/python -m compileall -q exporter
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || \
	  { echo "make: the tests' Python packages cannot be installed; is a package index reachable?" >&2; exit 2; }
	@touch $@
