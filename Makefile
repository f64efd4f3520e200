# The commands of the project; `make help` lists them.

PYTHON ?= python3
# Where `make up` keeps data, logs and downloads; another folder and other ports make a second stack.
DEV_DIR := $(or $(XTCP_DEV_DIR),.dev)
STACK := PYTHONPATH=dev PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m stack

# Kafka and ClickHouse of the harness's own, beside the stack.
CHAOS := XTCP_DEV_DIR=$(DEV_DIR)/chaos PYTHONPATH=dev PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m chaos

.DEFAULT_GOAL := help
.PHONY: help up down clean-dev test-dev chaos chaos-ci test-chaos chaos-binary python

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: python ## start Kafka and ClickHouse on loopback and write .dev/env
	@$(STACK) up

down: python ## stop what `make up` started
	@$(STACK) down

clean-dev: python ## stop it, and remove its data, logs and downloads (.dev/)
	@$(STACK) clean

test-dev: python ## test the local stack itself: the front, up and down
	@$(STACK) install
	@$(DEV_DIR)/venv/bin/python -B -m pytest -q -p no:cacheprovider dev/tests

chaos: python chaos-binary ## kill everything at seeded moments, compare what landed: SEED= RUNS= MINUTES= SCENARIO= DELIVERY=
	@$(STACK) install
	@$(CHAOS)

chaos-ci: python chaos-binary ## the same with fixed seeds, for 6 minutes at most
	@$(STACK) install
	@SEED=1 RUNS=100 MINUTES=6 $(CHAOS)

test-chaos: python chaos-binary ## show that the harness notices what is lost, doubled or altered
	@$(STACK) install
	@$(CHAOS) self-check

# BINARY=path takes a binary that is there.
chaos-binary:
	@test -n "$(BINARY)" || cargo build --release --quiet

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || \
	  { echo "error: $(PYTHON) is missing or older than 3.9: install Python 3 (Debian, Ubuntu: python3 python3-venv), or set PYTHON" >&2; exit 1; }
