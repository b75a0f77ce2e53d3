# The one front door: demo, test, mutate, bench, docs, lint. Each sets up .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test oldest mutate bench status docs lint clean

# Threads that wait for work sleep: where test processes share processors, to spin costs the others.
PATIENT := OMP_WAIT_POLICY=PASSIVE OPENBLAS_THREAD_TIMEOUT=4

demo: .venv/.demo
	$(BIN)/panlearn compare --report panlearn-report.html

test: .venv/.dev
	$(PATIENT) $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# the oldest versions of what is needed and of the extras plot and data
oldest:
	$(PYTHON) -m venv .oldest
	.oldest/bin/pip install --quiet --disable-pip-version-check $$($(PYTHON) tools/oldest.py) pytest hypothesis
	.oldest/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	.oldest/bin/python -m pytest -W default tests/core tests/linear tests/bayes tests/preprocessing tests/plot

# ARGS="--since HEAD~3", ARGS="src/panlearn/linear/ridge.py --number 40"; by default what changed
mutate: .venv/.dev
	$(BIN)/python tools/mutate.py $(ARGS)

bench: .venv/.dev
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks growth

# what tests tell of methods is noted only here, since it takes time
status: bench
	$(MAKE) test ARGS=--junitxml=build/junit.xml
	$(BIN)/python -m benchmarks.status
	$(BIN)/python tools/proof.py

# examples run in as many processes as there are processors, each on one thread
docs: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

clean:
	rm -rf .venv .oldest build dist docs/_build docs/api docs/gallery docs/migration/*.rst docs/sg_execution_times.rst src/*.egg-info

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) -e '.[plot,data]'
	touch $@

.venv/.dev: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) -e '.[deep,scale,plot,data,peers,docs,dev]'
	touch $@ .venv/.demo
