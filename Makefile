# Everything a visitor needs. `make help` lists it.
PYTHON ?= python3
# uv installs the locked environment in seconds; `make venv INSTALLER=pip` does without it.
INSTALLER ?= uv
CORES ?= all
# Passed on to snakemake: make reproduce ARGS="--config scale=paper"
ARGS ?=
# The run that the docs show: make docs-assets RESULTS=results/paper
RESULTS ?= results/paper
# One live line where there is a terminal; the plain log elsewhere, and always with make reproduce LIVE=
LIVE ?= $(shell [ -t 2 ] && echo --logger dperm)
# Of make serve.
PORT ?= 8000
# The scale that ARGS ask for, else that of config/config.yaml.
SCALE = $(or $(lastword $(patsubst scale=%,%,$(filter scale=%,$(ARGS)))),$(shell awk '$$1 == "scale:" {print $$2}' config/config.yaml))
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help venv reproduce plan resume serve report-zip test test-slow test-faults test-kills test-versions test-processors test-portability test-cluster lint format bench bench-workflow bench-auditors docs docs-assets article gallery audit-diffprivlib frontier-others libraries audit-lock lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP)  ## the virtual environment .venv, from the hashed lock file

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dperm needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; give another one: make venv PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
ifeq ($(INSTALLER),uv)
	@# uv too comes from the lock file, with its hashes: its entry ends at the first line without a backslash.
	@awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > .venv/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@# Python compiles what it imports, and keeps it: the rest need not be. Where it may not, every job would compile anew.
	$(BIN)/uv pip sync --quiet $(if $(PYTHONDONTWRITEBYTECODE),--compile-bytecode) --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@$(BIN)/python -m compileall -q src
	@touch $@

reproduce: venv  ## every figure, table and verdict of the default run, and the report
	@start=$$(date +%s) && $(BIN)/snakemake $(LIVE) --cores $(CORES) $(ARGS) && \
	$(BIN)/python -m dperm_pipeline.report --since $$start --cores $(CORES) $(ARGS)

plan: venv  ## what a run would do and why, in ten lines: ARGS as for make reproduce
	@$(BIN)/snakemake --dry-run --logger dperm --cores $(CORES) $(ARGS)

resume: venv  ## go on after a crash or a kill
	@# A run that goes on must keep its lock and its temporary files.
	@$(BIN)/python -m dperm_pipeline.one_run
	$(BIN)/snakemake --unlock --cores 1 $(ARGS)
	@# A killed job cannot remove the temporary file or folder that it was writing.
	@# Each of these folders may be a link to another disk: the slash at the end follows it.
	@mkdir -p results resources/downloads resources/prepared
	@find results/ resources/ resources/downloads/ resources/prepared/ -type f -name '.*' ! -name '.snakemake*' ! -name '.git*' -delete
	@find resources/downloads/ -mindepth 1 -maxdepth 1 -type d -name '.*' -exec rm -rf {} +
	@$(MAKE) --no-print-directory reproduce

serve: venv  ## the report of the last run on http://127.0.0.1:8000/ (PORT=8000)
	@$(BIN)/python -m dperm_pipeline.report --serve $(PORT) $(ARGS)

report-zip: venv  ## figures, tables, ledgers and the report in one zip, by snakemake --report
	@test -f results/$(SCALE)/report/index.html || { echo "there is no results/$(SCALE)/report/index.html; run make reproduce first"; exit 1; }
	@$(BIN)/snakemake --report results/$(SCALE)/report.zip --cores 1 $(ARGS)
	@echo "results/$(SCALE)/report.zip"

# pytest keeps the tests that it has rewritten, for the targets after it.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

# What a worker has left at the end, another takes over. Three of them for two cores: each waits for a fifth of its time,
# for browsers, for processes that it starts and for clocks.
test: venv  ## all tests but those of the targets below (6 to 8 minutes on two cores)
	$(PYTEST) -n 3 --dist worksteal -m "not slow and not faults and not kills and not cluster and not versions and not processors"

test-slow: venv  ## full statistical power, browsers, and what is large or looks a second time (at most 30 minutes)
	@# Collecting all files takes each worker half a minute.
	$(PYTEST) -n 3 --dist worksteal -m "slow and not faults and not kills and not cluster and not versions and not processors" \
		$$(grep -rl --include='test_*.py' 'mark.slow' tests)

test-faults: venv  ## kills, full and read-only disks, broken files: each injected, then healed (about 10 minutes)
	@# The tests of a file may share a run of minutes.
	$(PYTEST) -n 2 --dist loadfile -m "faults and not cluster and not versions and not processors" tests/faults tests/security

test-kills: venv  ## a run of SCALE=quick under random kills every 20 seconds, and an undisturbed one (about half an hour)
	SCALE=$(SCALE) $(PYTEST) -s -m kills tests/faults

test-cluster: venv  ## jobs through a real Slurm of one node, installed by apt if missing; needs root (about 5 minutes)
	@sh tests/cluster/install.sh
	$(PYTEST) -m cluster tests/cluster

test-versions: venv  ## the same rows with the oldest and the newest libraries, in environments of their own (about 6 minutes)
	$(BIN)/python tests/portability/environments.py
	$(PYTEST) -m versions tests/portability

test-processors: venv  ## rows and verdicts as if the processor had other instructions (about 17 minutes)
	$(PYTEST) -m processors tests/portability

test-portability: venv  ## the two above in one, which share a run
	$(BIN)/python tests/portability/environments.py
	$(PYTEST) -m "versions or processors" tests/portability

lint: venv  ## style, Snakemake's linter, the import rule
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(PYTEST) -q tests/structure/test_floors.py tests/workflow/test_lint.py

format: venv  ## rewrite the code in our style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

bench: venv  ## speed, as ratios to the naive way in the same run
	@# The grid of li2021 is timed on its data sets.
	$(BIN)/snakemake --cores 1 --quiet -- resources/prepared/adult.parquet resources/prepared/breast-cancer.parquet
	$(BIN)/python -m bench --full

bench-workflow: venv  ## what the workflow itself costs: SCALE=quick, OF=folder of a finished run, IN=folder to run in
	$(BIN)/python -m bench.workflow --scale $(SCALE) $(if $(OF),--of $(OF)) $(if $(IN),--in $(IN))

bench-auditors: venv  ## ours beside DP-Sniper, dp_auditorium and jax_privacy, pinned; 7 GB of packages, an hour
	$(PYTHON) -m venv .venv-others-auditors && .venv-others-auditors/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/auditors/requirements.lock
	$(BIN)/python examples/frontier/fetch.py .venv-others-auditors/sources bench/auditors/sources.json
	rows=.venv-others-auditors/rows.jsonl; sources=.venv-others-auditors/sources; others=.venv-others-auditors/bin/python; \
	  export OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1; set -e; \
	  $(BIN)/python bench/auditors/run_dperm.py > $$rows; \
	  PYTHONPATH=$$sources/jax_privacy $(BIN)/python bench/auditors/run_jax_privacy.py >> $$rows; \
	  PYTHONPATH=$$sources $$others bench/auditors/run_dp_sniper.py >> $$rows; \
	  PYTHONPATH=$$sources $$others bench/auditors/run_dp_auditorium.py >> $$rows; \
	  mv $$rows docs/assets/auditors.jsonl
	$(BIN)/python bench/auditors/table.py

docs: venv  ## the documentation as a site, site/index.html, without a network
	@rm -rf site
	@# The banner that this switches off praises a successor.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

docs-assets: venv  ## renew docs/assets, README.md and the docs' tables from a run: RESULTS=results/paper
	$(BIN)/python docs/update_assets.py $(RESULTS)

article: venv  ## the article, results/article.pdf, from docs/assets; RESULTS=results/paper: from that run
	@$(BIN)/python docs/build_article.py $(if $(filter-out file,$(origin RESULTS)),$(RESULTS))

gallery: venv  ## draw the pictures of docs/gallery.md again (half a minute)
	@mkdir -p docs/gallery
	@for program in examples/gallery/*.py; do \
	  MATPLOTLIBRC=examples/gallery MPLBACKEND=svg $(BIN)/python -W ignore $$program docs/gallery/$$(basename $$program .py).svg || exit 1; \
	done

audit-diffprivlib:  ## attack IBM's diffprivlib, in an environment of its own (minutes)
	$(PYTHON) -m venv .venv-diffprivlib
	.venv-diffprivlib/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r examples/diffprivlib/requirements.lock
	.venv-diffprivlib/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	cd examples/diffprivlib && ../../.venv-diffprivlib/bin/python logistic.py
	@# Status 1 says `refuted`: that is an answer, not a failure.
	cd examples/diffprivlib && for run in default:100000 little_curvature:100000 intercept:20000; do \
	  ../../.venv-diffprivlib/bin/dperm audit logistic:$${run%:*} --draws $${run#*:} --seed 1 || [ $$? = 1 ] || exit 1; \
	done

frontier-others: venv  ## others' private linear models on the frontier's splits; 6 GB of packages, half an hour
	$(BIN)/snakemake --cores 2 --quiet -- resources/prepared/adult.parquet resources/prepared/breast-cancer.parquet resources/prepared/covertype.parquet
	for name in diffprivlib frontier; do $(PYTHON) -m venv .venv-others-$$name && .venv-others-$$name/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r examples/$$name/requirements.lock || exit 1; done
	$(BIN)/python examples/frontier/fetch.py .venv-others-frontier/sources
	$(BIN)/python examples/frontier/splits.py .venv-others-frontier/splits
	rows=.venv-others-frontier/rows.jsonl; sources=.venv-others-frontier/sources; splits=.venv-others-frontier/splits; \
	  export OMP_NUM_THREADS=1; set -e; \
	  $(BIN)/python examples/frontier/provenance.py > $$rows; \
	  $(BIN)/python examples/frontier/fit_dperm.py $$splits >> $$rows; \
	  .venv-others-diffprivlib/bin/python examples/frontier/fit_diffprivlib.py $$splits >> $$rows; \
	  PYTHONPATH=$$sources/dp_newton .venv-others-diffprivlib/bin/python examples/frontier/fit_dp_newton.py $$splits >> $$rows; \
	  PYTHONPATH=$$sources/better_objpert .venv-others-frontier/bin/python examples/frontier/fit_better_objpert.py $$splits >> $$rows; \
	  mv $$rows src/dperm_papers/frontier/linear/elsewhere.jsonl
	$(BIN)/python examples/frontier/table.py

libraries: venv  ## the ledger of other people's libraries, each attacked in an environment of its own (half an hour)
	$(BIN)/snakemake --cores $(CORES) --quiet -- libraries
	cat results/libraries/rows/*.jsonl > docs/assets/libraries.jsonl
	$(BIN)/python examples/libraries/ledger.py --docs

audit-lock:  ## known weaknesses of the locked packages, by pip-audit in an environment of its own
	@$(PYTHON) .ci/audit-lock/run.py $(ARGS)

lock: venv  ## renew requirements.lock, and those of the oldest and the newest libraries, from pyproject.toml
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 --extra convex --extra pipeline --extra serve --extra dev pyproject.toml -o requirements.lock
	@for end in oldest:lowest-direct newest:highest; do echo 'setuptools>=77' | $(BIN)/uv pip compile --quiet --upgrade --resolution $${end#*:} --generate-hashes --universal --python-version 3.11 --extra convex --extra pipeline --extra release pyproject.toml - -o tests/portability/$${end%:*}.lock; done

clean:  ## remove everything computed; downloads stay
	rm -rf results logs benchmarks resources/prepared site .snakemake
