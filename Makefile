# make demo: install and see the first clusters.  make test: install and run the whole suite, a file on each of two cores
# at a time.  make lint: style, types, layers.
# make docs: the pages, in docs/_build/html.
# make release: wheel and sdist in dist, checked, and a fit with the wheel in an empty environment.
# All paths are relative and every program runs as `python -m`, so a path with a space in it works.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: demo test lint format docs bench release clean browser

demo: $(VENV)/.plots
	$(RUN) -m shade demo

test: $(VENV)/.dev browser
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term --cov-fail-under=90 $(PYTEST_ARGS)

# The report is tested in Chromium. Where it is missing and cannot be installed, these tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1 || true

lint: $(VENV)/.dev
	$(RUN) -m ruff check src tests benchmarks docs
	$(RUN) -m ruff format --check src tests benchmarks docs
	$(RUN) -m mypy
	PYTHONPATH=src $(RUN) -c "import sys; from importlinter.cli import lint_imports_command as lint; sys.argv = ['lint-imports']; lint()"

format: $(VENV)/.dev
	$(RUN) -m ruff check --fix src tests benchmarks docs
	$(RUN) -m ruff format src tests benchmarks docs

# Examples run while the pages are built; a warning is an error; no other machine is asked for anything.
docs: $(VENV)/.docs
	rm -rf docs/api # pages of names that are gone
	$(RUN) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The programs that shade is measured against live in an environment of their own: quitefastmst is under the AGPL and is
# only run there, for comparison. ClustPy asks for torchvision, which what is measured here does not use.
bench: .venv-bench/.bench
	.venv-bench/bin/python -m benchmarks $(BENCH_ARGS)

.venv-bench/.bench: pyproject.toml constraints.txt benchmarks/requirements.txt
	$(MAKE) VENV=.venv-bench .venv-bench/.plots
	.venv-bench/bin/python -m pip install --quiet -c constraints.txt -e '.[suite]' -r benchmarks/requirements.txt
	.venv-bench/bin/python -m pip install --quiet --no-deps clustpy==0.0.3
	touch $@

# The first line of the last command leaves the checkout, so that nothing of it is imported.
release: $(VENV)/.dev
	rm -rf dist
	$(RUN) -m build --outdir dist .
	$(RUN) -m twine check --strict dist/*.whl dist/*.tar.gz
	$(PYTHON) -m venv dist/empty
	dist/empty/bin/python -m pip install --quiet -c constraints.txt "$$(ls dist/*.whl)[report,io]"
	cd dist/empty && bin/python -m shade demo --table customers.csv && \
	  bin/python -m shade fit customers.csv --missing mean --id customer -o result

clean:
	rm -rf $(VENV) .venv-bench build dist docs/_build docs/api docs/gallery shade-demo .coverage* .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A stamp a set of extras: nothing is asked of the network again until the requirements change.
$(VENV)/.plots: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(RUN) -m pip install --quiet -c constraints.txt -e '.[plots,report,io]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(RUN) -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/.plots

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(RUN) -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@ $(VENV)/.plots

# Debian keeps venv in a package of its own.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y python3-venv; } && $(PYTHON) -m venv $(VENV); } || \
	  { rm -rf $(VENV); echo "Creating a virtual environment failed. Install it with: apt-get install python3-venv" >&2; exit 1; }
