# setup: prepare everything · run: serve (PORT= HOST= DATA= APP=) · test: every test · check: lint and types
# bench: measure · chaos N=200: kill -9, and with protections removed · fuzz N=20000: hostile requests and frames
# compat: a run in a real Arize Phoenix · live: a run in OpenAI's dashboard, with OPENAI_API_KEY
# pages: build the web app · types: its API types, from the server · images: screenshots of every page, into build/images
# dev: serve, again whenever the source changes · lock: newer versions

VENV := .venv
PY := $(VENV)/bin/python
NODE_BIN := $(VENV)/bin
NODE_DIR := tests/node
WEB := web
PAGES := src/agio/gateway/pages/dist/index.html
API_TYPES := $(WEB)/src/protocol/api.gen.ts
N ?= 200
PORT ?= 8700
HOST ?= 127.0.0.1
# make signals its child alone, so the server takes the shell's place; on Linux it also ends when make is killed.
SERVE = exec $(shell command -v setpriv >/dev/null && echo setpriv --pdeathsig TERM) $(VENV)/bin/agio serve --port $(PORT) --host $(HOST) $(if $(DATA),--data "$(DATA)") $(if $(APP),--app "$(APP)")
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup pages chromium run test check types images bench chaos fuzz compat live dev lock clean

setup: $(VENV)/.run $(VENV)/.test $(NODE_DIR)/node_modules/.stamp $(PAGES)

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

# By the lock file, as `npm ci`, which refuses one that was made where not every platform's binaries are to be had.
$(WEB)/node_modules/.stamp: $(WEB)/package-lock.json $(WEB)/.npmrc | $(VENV)/.run
	cd $(WEB) && npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

pages: $(PAGES)

$(PAGES): $(WEB)/node_modules/.stamp $(WEB)/index.html $(WEB)/vite.config.ts $(shell find $(WEB)/src $(WEB)/public -type f -not -name '*.test.ts*' 2>/dev/null)
	cd $(WEB) && npm run --silent build -- --logLevel warn
	@touch $@

run: $(VENV)/.run $(PAGES)
	@$(SERVE)

# Debian's browser for the tests of the pages; without it they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	     && { apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }; }; } \
	|| echo "There is no Chromium here: the tests of the pages are skipped. Install it with: apt-get install chromium"

test: setup chromium
	@$(PY) -m pytest -n 2 --dist worksteal $(ARGS)

check: setup
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	node $(NODE_DIR)/node_modules/pyright/index.js
	cd $(WEB) && npm run --silent lint && npm run --silent types
	@$(MAKE) --no-print-directory types API_TYPES=$(VENV)/api.gen.ts && cmp $(VENV)/api.gen.ts $(API_TYPES) \
	|| { echo "The pages' API types are not the server's: run make types."; exit 1; }
	$(VENV)/bin/bandit -q -c pyproject.toml -r src
	$(PY) -m tests.checks.source
	$(PY) -m tests.checks.dependencies

types: setup
	@$(PY) -m tests.docs.openapi > $(VENV)/openapi.json
	@$(NODE_DIR)/node_modules/.bin/openapi-typescript $(VENV)/openapi.json -o $(API_TYPES) --alphabetize --root-types --root-types-no-schema-prefix > /dev/null

images: setup chromium
	@$(PY) -m web.e2e.screenshots build/images

bench: setup
	$(PY) bench/run.py $(ARGS)

chaos: setup
	$(PY) -m tests.acceptance.crash.harness $(N)
	AGIO_CHAOS=1 $(PY) -m pytest tests/acceptance/crash

fuzz: N = 20000
fuzz: setup
	$(PY) -m tests.fuzz.openapi $(N)
	$(PY) -m tests.fuzz.noise
	AGIO_FUZZ=60 $(PY) -m pytest tests/fuzz --deselect tests/fuzz/test_openapi.py --timeout 3600

# A service of others, in an environment of its own: the newest one, as a stranger would install it.
build/phoenix/.stamp:
	python3 -m venv build/phoenix
	build/phoenix/bin/pip install -q --disable-pip-version-check arize-phoenix
	@touch $@

compat: setup build/phoenix/.stamp
	$(PY) -m tests.compat.phoenix build/phoenix/bin/phoenix

live: setup
	@$(PY) -m tests.compat.live

dev: setup
	@$(SERVE) --reload

lock: $(PY)
	$(PY) -m pip install -q uv
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --group build -o requirements/build.txt
	$(VENV)/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --group test --group check -c requirements/run.txt -o requirements/test.txt
	cd $(NODE_DIR) && npm install --package-lock-only --silent
	cd $(WEB) && npm install --package-lock-only --silent

clean:
	rm -rf $(VENV) $(NODE_DIR)/node_modules $(WEB)/node_modules $(dir $(PAGES))
