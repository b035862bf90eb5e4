# Thin: what to build and how stands in CMakeLists.txt and CMakePresets.json.

PREFIX ?= /usr/local

# Rebuilds are quick where ccache is installed.
export CMAKE_C_COMPILER_LAUNCHER ?= $(shell command -v ccache)
# Most tests wait more than they compute.
JOBS := $(shell expr $$(nproc) + 1)

.PHONY: all program nvim demo demo-nvim demo-emacs test install lint bench asan tsan fuzz clean help

all: program
	@cmake --build --preset release --target grammars

program:
	@.ci/packages build
	@cmake --preset release
	@cmake --build --preset release

# What a plugin manager runs in a clone: the server, and the tags of :help pi.
nvim:
	@.ci/packages build
	@cmake --preset release
	@cmake --build --preset release --target pi-nvim pi-guard
	@! command -v nvim >/dev/null || \
	    nvim --headless -u NONE -i NONE -n -c 'helptags nvim-rpc/doc' -c 'qall!' </dev/null

demo: program
	@PI=build/release/cli/pi cli/demo/run

demo-nvim: nvim
	@PI_NVIM=build/release/nvim-rpc/pi-nvim nvim-rpc/demo/run

demo-emacs: program
	@emacs-module/demo/run build/release

test:
	@.ci/packages test
	@cmake --preset dev
	@cmake --build --preset dev --target all grammars
	@ctest --preset dev -j $(JOBS) $(CTEST_FLAGS)

install: all
	@cmake --install build/release --prefix $(PREFIX)

lint:
	@.ci/packages lint
	@.ci/stylua || [ $$? -eq 77 ]
	@cmake --preset dev
	@cmake --build --preset dev
	@ctest --preset dev -L lint
	@tests/lint/tidy.sh build/dev

bench: all
	@.ci/packages test
	@cmake --preset dev >/dev/null && cmake --build --preset dev --target pi-mock
	@export PI=build/release/cli/pi PI_MOCK=$(CURDIR)/build/dev/tests/pi-mock \
	    PI_NVIM=$(CURDIR)/build/release/nvim-rpc/pi-nvim \
	    PI_EMACS_MODULE=$$(ls $(CURDIR)/build/release/emacs-module/pi-module-*.so); \
	    tests/bench/run; status=$$?; tests/bench/editors && exit $$status

asan tsan fuzz:
	@.ci/packages test
	@cmake --preset $@
	@cmake --build --preset $@ --target all grammars
	@ctest --preset $@ -j $(JOBS) $(CTEST_FLAGS)

clean:
	@rm -rf build

help:
	@echo "make           build pi into build/release, and grammars where npm is"
	@echo "make demo      build it and show it at work"
	@echo "make nvim      build only what Neovim needs"
	@echo "make demo-nvim show it at work in Neovim"
	@echo "make demo-emacs the same in Emacs"
	@echo "make test      build with warnings as errors and run the tests"
	@echo "make install   install into PREFIX=$(PREFIX); DESTDIR is honoured"
	@echo "make lint      style, layers, clang-tidy"
	@echo "make bench     measure against the budgets"
	@echo "make asan      the tests under address and undefined-behaviour sanitizers"
	@echo "make tsan      the tests under the thread sanitizer"
	@echo "make fuzz      build the fuzzers (needs clang) and replay their corpora"
	@echo "make clean     remove build/"
