# indexerd: every target sets up what it needs in .venv first. `make` alone lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
ROOT   ?= ./docs
DATA   ?=
FUZZ_SECONDS ?= 60
# Tests that get along with others beside them, and how many at a time. The rest has the machine to itself: it fills
# disks, lowers limits, counts what a daemon does when nothing happens.
BESIDE := tests/architecture tests/unit tests/contract tests/property tests/docs
SPREAD := -n auto --maxprocesses=4 --dist=worksteal

.PHONY: help setup run test check format lint type architecture fast docs man test-crash test-soak fuzz bench packages clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
# Before 25.2 pip writes a start script that loads the regular expressions first: half as long again as Python alone.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.2' || echo "pip stays as it is"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

# What only the whole of the tests needs, and is large.
$(VENV)/.conformance: $(STAMP)
	@for extra in conformance adapters; do \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,$$extra]" \
	    || echo "the tests that need the extra $$extra will be skipped: pip could not install it"; done
	@touch $@

setup: $(STAMP) ## make .venv and install the program and what its tests need

run: setup ## watch ROOT (default ./docs) and answer queries until stopped
	@$(BIN)/indexerd watch $(ROOT)

# Programs that some tests drive. Installed only where the tests may not skip: on a CI machine, as root.
packages:
	@if [ -n "$$CI" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  for each in git:git curl:curl vim:vim nvim:neovim emacs:emacs-nox zsh:zsh fish:fish groff:groff-base rsync:rsync faketime:faketime setpriv:util-linux strace:strace mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs systemd-analyze:systemd; do \
	    command -v $${each%%:*} >/dev/null || missing="$$missing $${each##*:}"; done; \
	  if [ -n "$$missing" ]; then apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends $$missing; fi; fi

test: packages setup $(VENV)/.conformance ## run all the tests
	@$(BIN)/python -m pytest $(SPREAD) $(BESIDE); beside=$$?; $(BIN)/python -m pytest $(BESIDE:%=--ignore=%) && exit $$beside

check: setup format lint type fast ## what every change must pass: format, lint, types, fast tests; under two minutes

format:
	@$(BIN)/ruff format --check .

lint:
	@$(BIN)/ruff check .

type:
	@$(BIN)/mypy

architecture: setup ## the rules of the house alone: layers, doors, shape
	@$(BIN)/python -m pytest tests/architecture

fast:
	@$(BIN)/python -m pytest $(SPREAD) -m 'not slow and not root' $(BESIDE)

man: setup ## write the manual page anew, from the commands
	@$(BIN)/python docs/manual.py > docs/indexerd.1

docs: setup ## run every command that README and docs show
	@$(BIN)/python -m pytest tests/docs

test-crash: setup ## the crash and fault sweeps, merges, and the races for a link out of a root, at their large size
	@INDEXERD_TEST_SIZE=large $(BIN)/python -m pytest tests/crash tests/unit/test_sources.py tests/property/test_property_merges.py

test-soak: setup ## random histories, and what nobody may infer, at their large size; with DATA=DIR each commit of real ones, too
	@INDEXERD_TEST_SIZE=large INDEXERD_HISTORY_STEP=1 $(BIN)/python -m pytest tests/integration tests/property -m slow $(if $(DATA),--data "$(DATA)")

fuzz: setup ## look for bytes that break a decoder, by coverage: FUZZ_SECONDS=60 for each target
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3'
	@for each in $$($(BIN)/python -c 'from tests.fuzz.targets import TARGETS; print(*TARGETS)'); do \
	  mkdir -p .fuzz && echo "$$each:" && $(BIN)/python -m tests.fuzz.look $$each -max_total_time=$(FUZZ_SECONDS) -timeout=2 \
	    -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 -artifact_prefix=.fuzz/$$each- .fuzz/$$each || exit 1; done

bench: setup ## measure beside tantivy, SQLite FTS5 and bm25s; needs DATA=DIR with the corpora; WITH='--only ROW' for less
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check tantivy bm25s
	@$(BIN)/python benchmarks/run.py --data "$(DATA)" $(WITH)

clean: ## remove what the targets made
	rm -rf $(VENV) .fuzz build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
