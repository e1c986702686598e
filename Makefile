# Sallyport: build, test, show. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

prefix ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
# What to break on purpose in a demo: relay, cache, policy or wipe; of the fleet's, relays or audit.
BREAK ?=
# Passed on to `swift test`, as in `make test TESTS='--filter RoutingTests'`.
TESTS ?=
# How often `make test-repeat` runs the tests at most.
RUNS ?= 50
# Transfers of `make soak`, after the same tenth for warm-up.
SOAK ?= 10000
# Seconds for which `make soak` fuzzes each parser.
FUZZ ?= 600
# Answers that `make fuzz-answers` and `make soak` give to three readers of HTTP/1.1.
ANSWERS ?= 10000000
# What `make profile` looks at: a row of the benchmark table, or a program and its arguments; where the graph goes; and
# the numbers of operations of its two runs, as in '100 300'.
TARGET ?=
PROGRAM ?=
ARGS ?=
OUT ?=
OPERATIONS ?=

lint_folders := $(wildcard Package.swift Modules Plugins Tests Benchmarks/Package.swift Benchmarks/Sources Examples)

# The build passes the names of enabled traits on in the order of a hash table, which is another one in each process
# otherwise: everything would be built anew by chance.
export SWIFT_DETERMINISTIC_HASHING := 1

# The program has the Swift runtime in it, and runs on machines without Swift; 0 links it dynamically.
export SALLYPORT_STATIC ?= 1

.PHONY: help dependencies build install test test-repeat test-fleet outside docs demo demo-fleet faults bench counts profile soak fuzz-answers sanitize mutants format lint clean

help: ## Lists the targets.
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 14

dependencies: ## Installs the C libraries and the servers that tests use, if any is missing.
	@Tests/Scripts/dependencies

build: ## Builds the libraries and the program in release; needs the C libraries only.
	@Tests/Scripts/dependencies --build
	$(SWIFT) build -c release --product sallyport
	$(SWIFT) build -c release --product Sallyport

install: ## Installs the program below $(prefix); needs the C libraries only.
	@Tests/Scripts/dependencies --build
	$(SWIFT) build -c release --product sallyport
	install -D -m 0755 "$$($(SWIFT) build -c release --show-bin-path)/sallyport" "$(DESTDIR)$(prefix)/bin/sallyport"

# In few rings side by side, each with one test after the other: servers and time limits of one would be late for another
# on a small machine. Tests/Scripts/rings says what runs where.
test: dependencies ## Builds and runs all tests.
	SWIFT="$(SWIFT)" Tests/Scripts/swift build --build-tests
	SWIFT="$(SWIFT)" Tests/Scripts/test $(TESTS)

test-repeat: dependencies ## Builds the tests once, and runs them RUNS=50 times, up to a run that is red or has a flaky test.
	SWIFT="$(SWIFT)" Tests/Scripts/repeat $(RUNS) $(TESTS)

test-fleet: dependencies ## Runs the gateway's tests, once they are built, over a PostgreSQL that gateways share.
	SWIFT="$(SWIFT)" Tests/Scripts/with-postgresql Tests/Scripts/test --filter SallyportGatewayTests

outside: dependencies ## Builds and runs the programs of a package outside, which composes the public products.
	SWIFT="$(SWIFT)" Tests/Outside/run

docs: ## Builds the reference of all libraries as one site, .build-docs/reference; a warning is an error.
	@Tests/Scripts/dependencies --build
	SWIFT="$(SWIFT)" Tests/Scripts/reference

demo: ## Shows the main job on loopback; BREAK=relay|cache|policy|wipe breaks one step on purpose.
	@Tests/Scripts/dependencies --demo
	$(SWIFT) build --product sallyport
	$(SWIFT) build --product Demo
	$(SWIFT) build --product NativeURLSession
	$(SWIFT) build --product TokenService
	@BREAK="$(BREAK)" Examples/Demo/run "$$($(SWIFT) build --show-bin-path)"

demo-fleet: ## Shows two gateways on a PostgreSQL, with a relay beside them; BREAK=relays|audit breaks one step on purpose.
	@Tests/Scripts/dependencies --demo-fleet
	$(SWIFT) build --product sallyport
	@BREAK="$(BREAK)" Tests/Scripts/with-postgresql Examples/FleetDemo/run "$$($(SWIFT) build --show-bin-path)"

faults: ## Fails each part of a fleet in turn, and prints what happened to an app; as root, ten minutes; ONLY=TEXT.
	@Tests/Scripts/dependencies --faults
	$(SWIFT) build -c release --scratch-path .build-release --product sallyport
	$(SWIFT) build -c release --scratch-path .build-release --product FaultApp
	Tests/Faults/run "$$($(SWIFT) build -c release --scratch-path .build-release --show-bin-path)" \
		$(if $(ONLY),--only "$(ONLY)")

bench: ## Prints the table of speed, side by side with the alternatives.
	Benchmarks/run.sh
	Benchmarks/store.sh
	Benchmarks/cookies.sh
	Benchmarks/authentication.sh
	Benchmarks/cache.sh
	Benchmarks/sockets.sh
	Benchmarks/door.sh
	Benchmarks/relay.sh
	Benchmarks/instances.sh
	Benchmarks/tokens.sh
	Benchmarks/counts.sh

counts: ## Counts instructions, allocations and system calls of an operation, and compares them with the ceilings.
	Benchmarks/counts.sh

# The shell script reads these.
export TARGET PROGRAM ARGS OUT OPERATIONS
profile: ## A flame graph and the counts of TARGET=ROW, or of PROGRAM=… ARGS=…; OUT=FILE.svg.
	@Benchmarks/profile.sh

# What is fuzzed is fuzzed even where a long run is red; either makes the whole red.
soak: dependencies ## Long runs: transfers with random cancellation, 1 GiB through the relay, races of gateways, kills, power cuts, flipped bits, fuzzing.
	SWIFT="$(SWIFT)" Tests/Scripts/swift build --build-tests
	$(SWIFT) build -c release --scratch-path .build-release --product sallyport
	@status=0; \
	gateway="$$($(SWIFT) build -c release --scratch-path .build-release --show-bin-path)/sallyport"; \
	SALLYPORT_SOAK_GATEWAY="$$gateway" SALLYPORT_SOAK=$(SOAK) SWIFT="$(SWIFT)" Tests/Scripts/swift test --skip-build --disable-xctest --no-parallel --filter 'Soak|ConnectionFloodTests|TunnelLoadTests|aLargeFileArrivesWhole|KillTests|PowerCutTests|FlipTests|ModelTests|WithinASecond|WithinTheNextSecond|FleetFailoverTests|NamespaceTests' || status=1; \
	SALLYPORT_TEST_RACES=1000 SWIFT="$(SWIFT)" Tests/Scripts/with-postgresql \
		Tests/Scripts/test --filter FleetRaceTests || status=1; \
	SWIFT="$(SWIFT)" Tests/Fuzz/run $(FUZZ) || status=1; \
	SWIFT="$(SWIFT)" Tests/Fuzz/answers $(ANSWERS) || status=1; \
	exit $$status

fuzz-answers: ## Compares what three readers make of generated answers, ten million heads and bodies; ANSWERS=COUNT.
	@Tests/Scripts/dependencies --build
	SWIFT="$(SWIFT)" Tests/Fuzz/answers $(ANSWERS)

sanitize: dependencies ## The tests under AddressSanitizer, then under ThreadSanitizer; no process may report anything.
	SWIFT="$(SWIFT)" Tests/Scripts/sanitize $(TESTS)

mutants: dependencies ## Switches named security checks off, one by one; each must turn a test red.
	SWIFT="$(SWIFT)" Tests/Mutants/run $(MUTANTS)

format: ## Checks the format, a feature that is not to be used, the words of comments, and that every message of the program is reviewed.
	$(SWIFT) format lint --strict --parallel --recursive $(lint_folders)
	@if git grep -nE 'nonisolated\(nonsending\)|"NonisolatedNonsendingByDefault"' -- $(lint_folders); then \
		echo 'Swift 6.3 returns from such functions on another executor: Docs/Concurrency.md, "Executors".' >&2; exit 1; fi
	Tests/Scripts/words README.md Docs/*.md $(wildcard Modules/*/*.docc/*.md Plugins/*/*.docc/*.md)
	Tests/Scripts/messages

lint: format ## As format, and looks for the place of every mutant.
	SWIFT="$(SWIFT)" Tests/Mutants/run --check

clean: ## Removes what was built.
	rm -rf .build .build-*
