# setup: prepare everything · run: serve (PORT= HOST= DATA= APP=) · test: every test · check: lint and types
# bench: measure · chaos N=200: kill -9 · dev: serve, again whenever the source changes · lock: newer versions

VENV := .venv
PY := $(VENV)/bin/python
NODE_BIN := $(VENV)/bin
NODE_DIR := tests/node
N ?= 200
PORT ?= 8700
HOST ?= 127.0.0.1
SERVE = $(VENV)/bin/agio serve --port $(PORT) --host $(HOST) $(if $(DATA),--data "$(DATA)") $(if $(APP),--app "$(APP)")
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup run test check bench chaos dev lock clean

setup: $(VENV)/.run $(VENV)/.test $(NODE_DIR)/node_modules/.stamp

$(PY):
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "agio needs Python 3.11 or newer; python3 is $$(python3 --version)."; exit 1; }
	python3 -m venv $(VENV)

$(VENV)/.run: requirements/run.txt requirements/build.txt pyproject.toml | $(PY)
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/run.txt -r requirements/build.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/test.txt
	@touch $@

$(NODE_DIR)/node_modules/.stamp: $(NODE_DIR)/package-lock.json $(VENV)/.test
	cd $(NODE_DIR) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

run: $(VENV)/.run
	@$(SERVE)

test: setup
	@$(PY) -m pytest -n 2 --dist worksteal $(ARGS)

check: setup
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	node $(NODE_DIR)/node_modules/pyright/index.js

bench: setup
	$(PY) bench/run.py $(ARGS)

chaos: setup
	$(PY) -m tests.acceptance.kill_writer $(N)

dev: setup
	@$(SERVE) --reload

lock: $(PY)
	$(PY) -m pip install -q uv
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --group build -o requirements/build.txt
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --group test --group check -c requirements/run.txt -o requirements/test.txt
	cd $(NODE_DIR) && npm install --package-lock-only --silent

clean:
	rm -rf $(VENV) $(NODE_DIR)/node_modules
