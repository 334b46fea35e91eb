# Two commands to begin with: `make demo` shows what Vivavoce does, `make test` runs the suite.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

# Bytecode is kept: a run of the tests starts hundreds of processes, and each would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=
# ONNX Runtime sends telemetry to its vendor unless it is told not to.
export ORT_DISABLE_TELEMETRY := 1
# How often a test that fails is run once more: a machine that others use too may be late.
RERUNS ?= 0
PYTEST := $(BIN)/python -m pytest --strict-skips -raR --reruns $(RERUNS)
# One worker a core: with more, tests that measure time fail. Beyond five there is little to gain.
WORKERS := $(shell echo $$(($$(nproc) < 5 ? $$(nproc) : 5)))
READY := $(VENV)/.ready
READY_TO_TRAIN := $(VENV)/.ready-to-train
CONSTRAINTS := constraints.txt

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: setup
setup: $(READY) ## make .venv with everything installed and built; the others call it

# The client and the server, both editable.
PACKAGES := --editable './clients[mic,wyoming]' --editable
# The laboratory, which a checkout may do without.
LAB_EXTRAS := bench,eval
LAB := $(if $(wildcard lab/pyproject.toml),--editable './lab[$(LAB_EXTRAS)]')

$(READY): pyproject.toml clients/pyproject.toml $(wildcard lab/pyproject.toml) $(CONSTRAINTS) $(wildcard engines/build/moonshine*.py) engines/build/smart_turn.py engines/build/sentence_embedding.py $(wildcard engines/build/speaker*)
	@echo "==> making $(VENV) (about a minute)"
	@$(PYTHON) --version | grep -q 'Python 3\.11\.' || { echo "Python 3.11 is needed: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "==> installing"
	$(BIN)/uv pip install --python $(BIN)/python --constraint $(CONSTRAINTS) $(PACKAGES) '.[serve,dev]' $(LAB)
	@echo "==> building the speech recognition model"
	$(BIN)/python -m engines.build.moonshine
	@echo "==> building the model of the end of a turn"
	$(BIN)/python -m engines.build.smart_turn
	@echo "==> building the model of sentence embeddings"
	$(BIN)/python -m engines.build.sentence_embedding
	@echo "==> building the model of speakers"
	$(BIN)/python -m engines.build.speaker
	@touch $@

.PHONY: setup-train
setup-train: $(READY_TO_TRAIN) ## add what training, importing and optimizing models needs (PyTorch); serving never does

# PyTorch first and with pip: it honours the machine's own package sources, where a build without CUDA may lie, and what is
# installed stays when the rest is added. It alone has no hash in the constraints, for each of its builds has another one.
$(READY_TO_TRAIN): $(READY)
	@echo "==> installing PyTorch and what training needs (about a minute)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "$$(grep '^torch==' $(CONSTRAINTS))"
	$(BIN)/uv pip install --python $(BIN)/python --constraint $(CONSTRAINTS) $(PACKAGES) '.[serve,dev]' --editable './lab[dev]'
	@touch $@

.PHONY: demo
demo: setup ## the main job, from nothing, on recordings that come with the project; PAGE=yes keeps the page open
	$(BIN)/python -m demo.run $(if $(PAGE),--page)

.PHONY: test
test: setup ## run the product's suite, from nothing
	$(PYTEST) tests/integration tests/unit $(addprefix --ignore=,$(filter tests/integration/%,$(SYSTEM_TESTS))) -m "not alone" \
		--numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-services 34 --max-tritons 18
	$(PYTEST) tests/integration -m alone --max-services 6 --max-tritons 3

# The first ones run in `make test-system` alone; the others skip themselves in `make test` without the system's packages.
SYSTEM_TESTS := $(addprefix tests/integration/test_,virtual_microphone.py nginx.py page.py) \
	$(addprefix tests/unit/service/test_,stored_sessions.py keeping_sessions.py redis_sessions.py)

.PHONY: test-system
test-system: setup ## what needs a sound server, nginx, Redis and Chromium of the system
	$(PYTEST) $(SYSTEM_TESTS)

.PHONY: quick
quick: setup ## lint what changed since CHANGED_SINCE (default: the last commit) and run the unit tests that import it
	$(BIN)/python -m tools.quick $(CHANGED_SINCE)

.PHONY: test-lab
test-lab: setup-train ## the laboratory's suite: training, importing, judging, measuring (PyTorch)
	$(PYTEST) lab/tests/integration lab/tests/unit --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: test-robustness
test-robustness: setup ## what hangs, is killed or attacks, against the service
	$(PYTEST) tests/robustness
	EXAMPLES=5 $(PYTEST) tests/unit/pipelines -m hypothesis --numprocesses $(WORKERS) --dist loadfile

.PHONY: test-all
test-all: test check docs test-lab test-robustness test-packages test-system ## all that .ci/run runs, but other people's clients

ROUNDS ?= 3
SEED ?= 1

.PHONY: faults
faults: setup ## rounds of every fault while callers talk (about 5 minutes a round; ROUNDS, SEED), judged, as a table
	$(BIN)/python -m tests.robustness.harness --rounds $(ROUNDS) --seed $(SEED)

.PHONY: test-packages
test-packages: setup ## both distributions, installed into environments of their own
	$(PYTEST) tests/packages --numprocesses 2 --dist loadfile

.PHONY: test-integrations
test-integrations: setup ## other people's clients, each in an environment of its own, against the service
	$(BIN)/python -m pytest tests/integrations
	$(BIN)/python -m tests.integrations.inputs passed

.PHONY: check
check: setup-train ## format, lint, imports, types, stubs that agree with protos/, and the style of the docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLC2701 clients demo engines lab/benchmarks lab/modelkit service # imports of private modules
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 --package vivavoce
	$(BIN)/buf lint protos
	$(BIN)/python -m tests.stubs_up_to_date
	$(BIN)/python -m tools.proto_reference --check
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.docs_style
	$(BIN)/python -m tools.docstring_style

.PHONY: format
format: setup ## bring the code into form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: protos
protos: setup ## generate the stubs of protos/ into the packages that use them
	$(BIN)/python -m protos.generate
	$(BIN)/python -m tools.proto_reference

.PHONY: reference
reference: setup ## write docs/grpc.md from the comments of protos/, and the pages of commands and configuration from the code
	$(BIN)/python -m tools.proto_reference
	$(BIN)/python -m tools.reference

.PHONY: coverage
coverage: setup ## measure which lines the unit tests run, each module credited by its own tests
	$(BIN)/python -m pytest tests/unit --numprocesses logical --maxprocesses 4 --dist worksteal -q \
		--cov=service --cov=pipelines --cov=engines --cov=vivavoce --cov-context=test --cov-report=
	$(BIN)/python -m tools.own_coverage

.PHONY: sbom
sbom: setup ## list the server's packages and weights in dist/vivavoce.cdx.json (CycloneDX)
	$(BIN)/python -m tools.bill_of_materials dist/vivavoce.cdx.json

.PHONY: docs
docs: setup ## build the site of the documentation into site/, strictly
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint $(CONSTRAINTS) --requirement pyproject.toml --extra docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: image-check
image-check: setup ## carry the steps of the Dockerfile out without Docker and talk to what comes of them; root, debootstrap
	$(BIN)/python -m tools.image

.PHONY: serve
serve: setup ## run the service on localhost:50051
	$(BIN)/vivavoce serve

.PHONY: bench-strangers
bench-strangers: setup-train ## measure a conversation at the audio with another project's analyzer (about three minutes)
	$(BIN)/python -m benchmarks.strangers

OUT ?= gpu-results

.PHONY: bench-gpu
bench-gpu: setup-train ## measure the models on this machine's GPU, within eight minutes, into OUT
	$(BIN)/python -m benchmarks.gpu --out $(OUT)

.PHONY: constraints
constraints: ## choose the versions of all dependencies anew, with the hashes of their files
	$(BIN)/uv pip compile --quiet --python-version 3.11 --no-header --no-annotate --generate-hashes --extra serve --extra dev \
		--extra mic --extra wyoming --no-emit-package vivavoce --no-emit-package vivavoce-server --no-emit-package vivavoce-lab \
		pyproject.toml clients/pyproject.toml lab/pyproject.toml --output-file $(CONSTRAINTS)
	# Of PyTorch there are builds with and without CUDA.
	sed -i -e '/^torch==/,/^[^ ]/{/^ /d;s/^\(torch==[^ ]*\).*/\1/}' $(CONSTRAINTS)
	for wanted in tests/integrations/*/requirements.in; do $(BIN)/uv pip compile --quiet --python-version 3.11 --no-header \
		--no-annotate $$wanted --output-file $${wanted%.in}.txt || exit; done

.PHONY: clean
clean: ## remove what setup made
	rm -rf $(VENV) site model_repository/asr/1/moonshine-tiny-en model_repository/end_of_turn/1/smart-turn
