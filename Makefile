# Two commands do all the set-up on a fresh machine: make demo, make test.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# TORCH_INDEX_URL names a package index to take torch from, for instance one with CPU builds only.
INDEX := $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL))

.PHONY: demo test check format docs clean

demo: $(INSTALLED)
	$(BIN)/heedful demo

# SLOW=1 make test also runs what takes long. A process for each core.
test: $(INSTALLED)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST)

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(INSTALLED)
	$(BIN)/python docs/generate.py

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(INDEX) -c constraints.txt -e '.[demo,tune,dev]'
	touch $(INSTALLED)

clean:
	rm -rf .venv demo build dist .pytest_cache .ruff_cache .hypothesis
