# Every target works in a fresh clone, as root or as a user with sudo, and can be repeated.

# The Python of the system, like the package. Debian builds it with profile-guided optimisation: the
# tests use a third less CPU time than with a Python from pyenv (docs/costs.md).
PYTHON ?= $(shell /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo /usr/bin/python3 || echo python3)
VENV   := .venv
BIN    := $(VENV)/bin
# System packages for `make run` and `make deb`, and for the tests.
RUN_PACKAGES  := python3-venv smartmontools fio
DEB_PACKAGES  := debhelper python3
TEST_PACKAGES := $(RUN_PACKAGES) prometheus prometheus-node-exporter openssl curl e2fsprogs util-linux gcc libc6-dev prometheus-alertmanager chromium chromium-driver systemd systemd-container procps $(DEB_PACKAGES) groff-base docker-compose zsh fish gpg gpgv gpg-agent
RELEASE_PACKAGES := $(DEB_PACKAGES) rpm createrepo-c apt-utils gnupg
# Additional system packages for the container image of a release.
IMAGE_PACKAGES := mmdebstrap buildah
# Additional system packages for `make release-check`.
CHECK_PACKAGES := $(RELEASE_PACKAGES) $(IMAGE_PACKAGES) podman runc dnf cpio rpm2cpio systemd-container curl openssh-client netcat-openbsd
STACK_PACKAGES := prometheus prometheus-alertmanager
# Additional system packages for `make lab`.
LAB_PACKAGES  := qemu-system-x86 mmdebstrap busybox-static kmod lintian podman buildah runc mariadb-server sysbench
ARGS   ?=
# Duration of the first part of `make fuzz`, in seconds. Coverage guides its inputs.
SECONDS ?= 300
# IMAGE=no: `make release` without the container image, which only root builds.
WITHOUT_IMAGE := $(if $(filter no,$(IMAGE)),--without-image)
RUNS   ?= 10
KIND   ?= both
# Tests that mostly wait: for real disks, programs and intervals. Ten of them share two cores.
WAITING := rigs/devices $(addprefix tests/,end_to_end io probe programs smart web)
WAITING += $(addprefix tests/commands/test_,bench.py probe_command.py probe_setup.py slc.py steady_state_command.py)
WAITING += tests/measurement/test_session.py tests/stack tests/top
# Tests of the whole product, and others that take a minute or more: packages, images, machines that
# boot, both units beside failing drives, hostile inputs until a limit of memory, a browser, all alert
# stories, Prometheus with Alertmanager, simulated months, write cache measurements on a disk that
# becomes slower. `make system` runs them.
SYSTEM := rigs/month $(addprefix tests/,image packaging systemd pages/test_browser.py report/test_browser.py stack/test_demo.py)
SYSTEM += $(addprefix tests/,alerts/test_promtool.py commands/test_probe_setup_killed.py)
SYSTEM += $(addprefix tests/end_to_end/test_,alerting.py memory_ceilings.py slc.py slc_daemon.py two_units.py)
SYSTEM += tests/end_to_end/test_write_falloff.py
# Directory of the temporary files of tests that need no disk. With files in memory they take a third
# less time. In a container, /dev/shm often has 64 MB and the option noexec; then it is not used.
SCRATCH := $(shell findmnt --bytes --noheadings --output AVAIL,OPTIONS /dev/shm 2>/dev/null | awk '{usable = $$1 > 1e9 && $$2 !~ /noexec/} END {if (usable) print "/dev/shm"}')
SCRATCH := $(or $(SCRATCH),$(TMPDIR),/tmp)
# Processes get the groups of tests that tests/workers.py defines.
PARALLEL := --dist loadgroup
# A test session imports 300 modules, and a test starts the exporter several hundred times. Without
# compiled files each start would take three times the CPU time.
unexport PYTHONDONTWRITEBYTECODE
# Duration of `make soak`.
HOURS  ?= 1
# Architecture of packages and installations: x86_64 or aarch64.
ARCH   ?= $(shell uname -m)
PREFIX ?= /usr/local
BUILDER ?= docker build

# The port that ARGS selects for `make run`, if any.
RUN_PORT = $(lastword $(subst :, ,$(filter --web.listen-address=%,$(ARGS))))

.DEFAULT_GOAL := help
.PHONY: help rpm run venv dev test system quick fuzz green check format golden docs pmm address corpus smartctl-versions drives soak kills scenes month dashboards deb wheelhouse install lab services pairs guard stack demo gallery engines fleet image bench clean packages test-packages deb-packages lab-packages release-packages image-packages release apt-repo rpm-repo release-check first-page chart chart-check kubernetes

help:  ## Show this help
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use it

run: packages venv  ## Install dependencies and monitor this host on 127.0.0.1:10177 (ARGS=... for flags, PROBE_DIR=... for probes)
	@mkdir -p var
	@printf '[probe]\ndirectory = "%s"\nfirst_delay_seconds = 5\n' '$(abspath $(PROBE_DIR))' > var/probe.toml
	@echo "Starting ssd-exporter; Ctrl-C stops it. In another terminal, with the same state and port:"
	@echo "  $(BIN)/ssd-exporter check $(or $(filter --state.directory=%,$(ARGS)),--state.directory=var)"
	@echo "  $(BIN)/ssd-exporter top $(if $(RUN_PORT),--url=http://127.0.0.1:$(RUN_PORT))"
	@exec $(BIN)/ssd-exporter --state.directory=var $(if $(PROBE_DIR),--config.file=var/probe.toml) $(ARGS)

install: venv  ## Install below PREFIX=/usr/local (DESTDIR=... for packagers)
	@packaging/stage.sh $(BIN)/python $(ARCH) build/install
	@build/install/install.sh --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

stack: packages venv  ## Run exporter, Prometheus with the rules and Alertmanager on loopback until Ctrl-C (ARGS=--prometheus=PORT)
	@./packages.sh $(STACK_PACKAGES)
	@exec $(BIN)/python -m stack $(ARGS)

demo: packages venv  ## Run six simulated hosts with all verdicts and failing drives, Prometheus and Alertmanager, until Ctrl-C
	@./packages.sh $(STACK_PACKAGES)
	@exec $(BIN)/python -m rigs.demo $(ARGS)

##@ Between edits and before a commit

venv: $(VENV)/.installed  ## Create .venv with the command ssd-exporter

dev: $(VENV)/.installed-dev  ## Create .venv with the test dependencies

quick: dev  ## Run the tests that need no other program and no waiting (one minute; for use between edits)
	TMPDIR=$(SCRATCH) SSD_EXAMPLES=0.1 $(BIN)/pytest -q -n 3 $(PARALLEL) -m 'not real and not slow' $(addprefix --ignore=,$(WAITING) $(SYSTEM))

check: dev  ## Check lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.11 -p dashboards

format: dev  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: test-packages dev  ## Run the test suite (5 minutes on two cores; ARGS=... for pytest, to run a part)
ifeq ($(ARGS),)
	$(BIN)/pytest -n 10 $(PARALLEL) $(WAITING) $(addprefix --ignore=,$(SYSTEM))
	TMPDIR=$(SCRATCH) $(BIN)/pytest -n 3 $(PARALLEL) $(addprefix --ignore=,$(WAITING) $(SYSTEM))
else
	$(BIN)/pytest $(ARGS)
endif

system: test-packages dev  ## Test packages, booted units, pages in a browser, alerting and a simulated month (12 minutes; ARGS=... for a part)
	$(BIN)/pytest $(if $(ARGS),$(ARGS),-n 8 $(PARALLEL) $(SYSTEM))

lab: test-packages lab-packages dev deb  ## Test the .deb in a virtual machine with emulated drives (ARGS=... for pytest)
	$(BIN)/pytest -n 2 $(PARALLEL) $(ARGS) --ignore=rigs/lab/database rigs/lab

##@ Generated files

golden: dev  ## Regenerate tests/hosts/*/expected.prom; review the difference before you commit
	$(BIN)/python -m tests.hosts

docs: dev  ## Regenerate METRICS.md and docs/metrics.md from the catalogue
	$(BIN)/python -m exporter.metrics > METRICS.md
	$(BIN)/python -m exporter.metrics reference > docs/metrics.md

dashboards: dev  ## Regenerate dashboards/*.json; also needed after a change of alerts/thresholds.yml
	$(BIN)/python -m dashboards

pmm: dev  ## Regenerate alerts/pmm/ssd-critical.yml, the critical alerts as templates of PMM, after a change of them
	$(BIN)/python -m tests.alerts.pmm

kubernetes: dev  ## Regenerate container/kubernetes/daemonset.yml from the Helm chart (requires Go)
	$(BIN)/python -m rigs.chart

address: venv  ## Write the address of the project (Homepage in pyproject.toml) to all files that name it (ADDRESS=... sets it first)
	@$(BIN)/python packaging/address.py $(ADDRESS)

##@ Packages

deb: deb-packages venv  ## Build dist/*.deb (ARCH=aarch64 for ARM)
	@packaging/deb.sh $(BIN)/python $(ARCH)

rpm: release-packages venv  ## Build dist/*.rpm (ARCH=aarch64 for ARM)
	@packaging/rpm.sh $(BIN)/python $(ARCH)

wheelhouse: venv  ## Build dist/*.tar.gz for RHEL, Rocky and others (x86_64 and ARM)
	@packaging/archive.sh $(BIN)/python x86_64 aarch64

# The tools of `make release` are installed in the system and in .venv.
release: release-packages $(if $(WITHOUT_IMAGE),,image-packages) $(VENV)/.installed-release  ## Build all files of a release from a tagged commit (VERSION=1.0.0 OUT=DIR, KEY=fingerprint signs them, IMAGE=no)
	@$(BIN)/python -m release build --version='$(VERSION)' --out='$(OUT)' --key='$(KEY)' $(WITHOUT_IMAGE)

chart: venv  ## Pack the Helm chart with rules and dashboards into dist/
	@$(BIN)/python -m release chart --out=dist

apt-repo: release-packages $(VENV)/.installed-release  ## Make a signed repository for apt (OUT=DIR KEY=fingerprint RELEASES="DIR ...")
	@$(BIN)/python -m release apt-repo --out='$(OUT)' --key='$(KEY)' $(RELEASES)

rpm-repo: release-packages $(VENV)/.installed-release  ## Make a signed repository for dnf and zypper (OUT=DIR KEY=fingerprint RELEASES="DIR ...")
	@$(BIN)/python -m release rpm-repo --out='$(OUT)' --key='$(KEY)' $(RELEASES)

image:  ## Build the container image ssd-exporter (BUILDER='podman build --format=docker', ARGS=--build-arg=FIO=no)
	$(BUILDER) --build-arg=REVISION=$$(git rev-parse HEAD) --build-arg=CREATED=$$(git log -1 --format=%cI) -t ssd-exporter $(ARGS) .

##@ Rigs and long runs (rigs/README.md)

scenes: dev  ## Score the verdicts on simulated drives whose true state is known (3 minutes; ARGS='--only=stalls --count=10')
	$(BIN)/python -m rigs.scenes $(ARGS)

month: test-packages dev  ## Evaluate the rules on a simulated month of a healthy host, a busy shop and ten gradual faults (25 minutes; ARGS=--days=3)
	$(BIN)/python -m rigs.month $(ARGS)

corpus: dev  ## Parse real smartctl outputs (../shared/smartctl-corpus) and compare with the expected results
	$(BIN)/python -m rigs.corpus

drives: dev  ## Score the vendor table with captures of real drives (CAPTURES=../shared/ssd-captures, ARGS=--markdown)
	$(BIN)/python -m rigs.vendor_table $(CAPTURES) $(ARGS)

smartctl-versions: test-packages dev  ## Compare what versions of smartctl report (SMARTCTLS=DIR with VERSION/smartctl; ARGS=emulated in a virtual machine, after make lab)
	$(BIN)/python -m rigs.smartctl_versions $(SMARTCTLS) $(ARGS)

fuzz: dev  ## Call every parser for SECONDS with inputs that coverage guides, then run the property tests with 20 times the examples of `make test`
	$(BIN)/python -m rigs.fuzzing --seconds=$(SECONDS)
	SSD_EXAMPLES=20 $(BIN)/pytest -n 2 $(PARALLEL) -m hypothesis $(ARGS)

# Not part of `make lab`: a database on an emulated CPU takes three minutes, and six on a busy machine.
services: test-packages lab-packages dev deb  ## Compare the services that page, top and alert name with io.stat, beside MariaDB in a virtual machine
	$(BIN)/pytest -s $(ARGS) rigs/lab/database

guard: test-packages lab-packages dev  ## Start each probe beside a database, and measure how soon fio is gone (20 minutes; ARGS=--count=1)
	$(BIN)/python -m rigs.lab.guard $(ARGS)

pairs: test-packages lab-packages dev  ## Compare a database with and without the exporter, in 20 pairs of minutes and a control (70 minutes)
	$(BIN)/python -m rigs.lab.pairs $(ARGS)

kills: test-packages dev  ## Kill daemon and agent with SIGKILL at 200 random times, and 50 times during a probe (8 minutes)
	SSD_ROUNDS=200 SSD_PROBE_ROUNDS=50 $(BIN)/pytest --timeout=1800 \
	  tests/end_to_end/test_kill.py tests/end_to_end/test_probe.py -k 'killed or kill_9'

soak: test-packages dev  ## Run both units, probes and 24 emulated drives for HOURS, and report what grows (HOURS=8)
	$(BIN)/python -m rigs.soak --hours=$(HOURS)

engines: test-packages dev  ## Run the stories of the alerts on Prometheus 2.42, 3.16 and VictoriaMetrics at several scrape intervals (ARGS="--story io")
	$(BIN)/python -m rigs.engines $(ARGS)

fleet: test-packages dev  ## Compare the alerts of Prometheus and Thanos, and measure the rules on both with 1,000 hosts (ARGS=--hosts=100)
	$(BIN)/python -m rigs.fleet $(ARGS)

green: test-packages dev  ## Run `make test` and `make system` RUNS times on a quiet and RUNS times on a busy machine (KIND=quiet or busy; ARGS=... for a part)
	$(BIN)/python -m rigs.green --runs=$(RUNS) --kind=$(KIND) -- $(ARGS)

release-check: dev $(VENV)/.installed-release  ## Build two releases, one of them twice, and install, upgrade, roll back and purge them on fresh systems (90 minutes)
	@./packages.sh $(CHECK_PACKAGES)
	$(BIN)/pytest --timeout=3600 $(ARGS) rigs/fresh_systems

first-page: deb-packages dev  ## Measure the time from apt-get install to the first page, beside Debian's node_exporter and Prometheus (5 minutes; ARGS=--pairs=5)
	@./packages.sh mmdebstrap systemd-container apt-utils curl
	$(BIN)/python -m rigs.fresh_systems.first_page $(ARGS)

chart-check: dev  ## Render the Helm chart, and validate it with the schemas of Kubernetes and the Prometheus Operator (requires Go; 5 minutes the first time)
	$(BIN)/pytest --timeout=3600 $(ARGS) rigs/chart

gallery: test-packages dev  ## Put pictures of the pages, of each state, width and scheme, on one sheet in var/gallery (3 minutes; ARGS=--state="6 ill")
	$(BIN)/python -m rigs.gallery $(ARGS)

bench: test-packages dev  ## Measure CPU time and memory, compared with Debian's node_exporter (20 minutes; ARGS=--smart for a part)
	$(BIN)/python -m bench $(ARGS)

##@ Other

clean:  ## Remove build results
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

packages:
	@./packages.sh $(RUN_PACKAGES)

test-packages:
	@./packages.sh $(TEST_PACKAGES)

deb-packages:
	@./packages.sh $(DEB_PACKAGES)

release-packages:
	@./packages.sh $(RELEASE_PACKAGES)

image-packages:
	@./packages.sh $(IMAGE_PACKAGES)

lab-packages:
	@./packages.sh $(LAB_PACKAGES)

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "make: $(PYTHON) is older than Python 3.10; set PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || ./packages.sh python3-venv
	@test -x $(BIN)/python || echo "Creating the virtual environment $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "make: cannot create a virtual environment; install python3-venv" >&2; exit 2; }
	@echo "Installing the Python packages into $(VENV) (half a minute the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable . || \
	  { echo "make: cannot install the Python packages; is a package index reachable?" >&2; exit 2; }
	@# pip compiles installed modules, but not those of an editable install. Compiling at start costs 1 MB of memory.
	@$(BIN)/python -m compileall -q exporter
	@touch $@

$(VENV)/.installed-release: $(VENV)/.installed
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[release]' || \
	  { echo "make: cannot install the Python packages of the release; is a package index reachable?" >&2; exit 2; }
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing the Python packages of the tests into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || \
	  { echo "make: cannot install the Python packages of the tests; is a package index reachable?" >&2; exit 2; }
	@touch $@
