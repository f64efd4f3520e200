# The commands of the project; `make help` lists them.

PYTHON ?= python3
# Where `make up` keeps data, logs and downloads; another folder and other ports make a second stack.
DEV_DIR := $(or $(XTCP_DEV_DIR),.dev)
export PYTHONPATH := dev
export PYTHONDONTWRITEBYTECODE := 1
STACK := $(PYTHON) -m stack
BINARY := $(or $(CARGO_TARGET_DIR),target)/debug/xtcp-ingest
RELEASED := $(or $(CARGO_TARGET_DIR),target)/release/xtcp-ingest

# For measures of CPU, ClickHouse's data in memory where that is a folder: on ext4 a new file can take a hundred times as long for
# minutes after others were removed, and a part has hundreds. Its end removes them.
MEASURED := /dev/shm/xtcp-ingest-measured
IN_MEMORY := $(if $(wildcard /dev/shm/.),trap 'rm -rf $(MEASURED)' EXIT && XTCP_DEV_CLICKHOUSE_DATA=$(MEASURED))

# Kafka and ClickHouse of the harness's own, beside the stack.
CHAOS := XTCP_DEV_DIR=$(DEV_DIR)/chaos BINARY=$(BINARY) $(PYTHON) -m chaos

.DEFAULT_GOAL := help
.PHONY: help demo test lint soak compare server-cost flat latency roll bench-check test-memory up down clean-dev test-dev chaos chaos-ci test-chaos test-intents python build release

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: python build ## start Kafka and ClickHouse, ingest a mixed fleet, compare every count and value, stop
	@$(STACK) around $(PYTHON) -m trial demo $(BINARY)

# The faults come before the tests of the product, whose summary is the end of the output.
test: python lint test-dev chaos-ci ## run every test on a real Kafka and a real ClickHouse, and the fault harness for 6 minutes
	@$(STACK) around cargo test --locked --no-fail-fast

lint: ## check the format and what clippy says
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings

soak: python build ## let `run` take a backlog of 2 GB with ClickHouse away meanwhile, and watch its memory (ROWS=2300000 PARTITIONS=12 ENVELOPE=1..10000 OUTAGE=120)
	@$(STACK) around $(PYTHON) -m trial soak $(BINARY)

compare: python release ## measure ClickHouse alone against ClickHouse with xtcp-ingest, into docs/performance.md (ROWS, PASSES)
	@$(IN_MEMORY) $(STACK) around $(PYTHON) -m compare $(RELEASED) docs/performance.md

# What the front has installed is needed to frame the bodies.
server-cost: python release ## measure what inserts cost ClickHouse by their size, form and table, into docs/performance.md (ROWS, PASSES)
	@$(IN_MEMORY) $(STACK) around env PYTHONPATH=dev:dev/clickhouse $(DEV_DIR)/venv/bin/python -m servercost $(RELEASED) docs/performance.md

flat: python release ## measure the costs that must stay flat, into docs/performance.md (PARTS=core,floods,partitions,backlog)
	@$(STACK) around $(PYTHON) -m flat $(RELEASED) docs/performance.md

latency: python release ## measure latency at shares of what goes through at most, into docs/performance.md (ROWS, SECONDS, BACKLOG_GB, AGES)
	@$(IN_MEMORY) $(STACK) around $(PYTHON) -m latency $(RELEASED) docs/performance.md

roll: python release ## restart three processes one after the other over a live topic, and see what partitions feel of it, into docs/delivery.md (RATE)
	@$(STACK) around $(PYTHON) -m roll $(RELEASED) docs/delivery.md

bench-check: python release ## compare the speed relative to prost with the floor on record
	@$(PYTHON) -m floor $(RELEASED) benches/floor.json

up: python ## start Kafka and ClickHouse on loopback and write .dev/env
	@$(STACK) up

down: python ## stop what `make up` started
	@$(STACK) down

clean-dev: python ## stop it, and remove its data, logs and downloads (.dev/)
	@$(STACK) clean

test-dev: python ## test the local stack itself: the front, up and down
	@$(STACK) install
	@$(DEV_DIR)/venv/bin/python -B -m pytest -q -p no:cacheprovider dev/tests

# Each case takes some thirty times as long there.
test-memory: ## run the tests of the decoder under Valgrind, which sees wrong accesses to memory
	PROPTEST_CASES=20 cargo --config "target.'cfg(all())'.runner = ['valgrind', '--quiet', '--error-exitcode=9']" \
	  test --locked --lib -- wire:: block:: lane::

release:
	cargo build --locked --release

# The profile of the tests, so that no dependency is built twice.
build:
	cargo build --locked

chaos: python build ## kill everything at seeded moments, compare what landed: SEED= RUNS= MINUTES= SCENARIO= DELIVERY=
	@$(STACK) install
	@$(CHAOS)

chaos-ci: python build ## the same with fixed seeds, for 6 minutes at most
	@$(STACK) install
	@SEED=1 RUNS=100 MINUTES=6 $(CHAOS)

test-chaos: python build ## show that the harness notices what is lost, doubled or altered
	@$(STACK) install
	@$(CHAOS) self-check

# Built beside the other and put away: what stays in target/ is the product.
SABOTAGED := $(DEV_DIR)/xtcp-ingest-without-intents

test-intents: python ## show that the harness notices a build that leaves the intents out
	cargo build --locked --features without_intents
	@mkdir -p $(DEV_DIR) && cp $(BINARY) $(SABOTAGED)
	cargo build --locked
	@$(STACK) install
	@SEED=1 RUNS=8 SCENARIO=kill_ingest XTCP_DEV_DIR=$(DEV_DIR)/chaos BINARY=$(SABOTAGED) $(PYTHON) -m chaos sabotaged

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || \
	  { echo "error: $(PYTHON) is missing or older than 3.9: install Python 3 (Debian, Ubuntu: python3 python3-venv), or set PYTHON" >&2; exit 1; }
