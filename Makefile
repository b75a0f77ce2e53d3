# The one front door: demo, test, mutate, bench, docs, lint. Each sets up .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test mutate bench status docs lint clean

demo: .venv/.demo
	$(BIN)/panlearn compare --report panlearn-report.html

test: .venv/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal --junitxml=build/junit.xml

# ARGS="--since HEAD~3", ARGS="src/panlearn/linear/ridge.py --number 40"; by default what changed
mutate: .venv/.dev
	$(BIN)/python tools/mutate.py $(ARGS)

bench: .venv/.dev
	$(BIN)/python -m benchmarks

status: test bench
	$(BIN)/python -m benchmarks.status
	$(BIN)/python tools/proof.py

docs: .venv/.dev
	$(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

clean:
	rm -rf .venv build dist docs/_build docs/api docs/gallery docs/migration/*.rst docs/sg_execution_times.rst src/*.egg-info

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) -e '.[plot,data]'
	touch $@

.venv/.dev: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) -e '.[deep,scale,plot,data,peers,docs,dev]'
	touch $@ .venv/.demo
