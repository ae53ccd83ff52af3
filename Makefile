# Everything a person needs: `make` alone says what there is. Each target does its own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find native -name '*.[ch]pp')
BUILT := $(VENV)/.built
SETS ?= digits
JOBS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-all lint format bench bench-render sanitize cross docs dist clean

help:  ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.made: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(BUILT): $(VENV)/.made $(NATIVE)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.linters: $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py lint)
	touch $@

$(VENV)/.peers: $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py peers)
	touch $@

demo: $(BUILT)  ## Learn codes of 1797 handwritten digits, search them, write a report (`make demo SERVE=1`: look at them)
	$(BIN)/rankhash demo $(if $(SERVE),--serve --open)

reproduce: $(BUILT)  ## Repeat the paper's experiments with figures (`make reproduce SETS="mnist" DATA=folder JOBS=2`)
	$(BIN)/rankhash reproduce $(SETS) $(if $(DATA),--data $(DATA)) --jobs $(JOBS)

test: $(BUILT)  ## Run the tests (a few minutes)
	$(BIN)/python -m pytest -m "not slow" -n auto --dist loadfile

test-all: $(BUILT)  ## Run the tests and those that are slow
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.linters  ## Check style, types and the generated stub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/stub.py --check

format: $(VENV)/.linters  ## Format the code and write the stub anew
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/stub.py

bench: $(VENV)/.peers  ## Measure beside FAISS and render the tables (an hour; `make bench GROUPS=scan` for a part)
	$(BIN)/python benchmarks/run.py $(GROUPS)
	$(BIN)/python benchmarks/render.py

$(VENV)/.native: $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py native)
	touch $@

sanitize: $(VENV)/.native  ## Run the native tests under AddressSanitizer and UBSan
	$(BIN)/python tools/sanitize.py

cross: $(BUILT)  ## Compare the NEON kernels with the scalar ones in an emulator, if there is one
	$(BIN)/python tools/cross.py

$(VENV)/.docs: $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py docs)
	touch $@

docs: $(VENV)/.docs  ## Build the documentation into build/site, warnings being errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/.dist: $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py dist)
	touch $@

dist: $(VENV)/.dist  ## Build sdist and wheel, check them, try the wheel in a venv of its own
	$(BIN)/python tools/dist.py

clean:  ## Remove the venv and all that was built
	rm -rf $(VENV) build dist
