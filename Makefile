# Telltale. `make help` lists the targets. Needs Go (see go.mod), make and git; what else it needs it fetches itself.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# From the root, ./... covers the root module alone: everything loops over the workspace's modules.
MODULES := . otelres promres slogres grpcres e2e dashboards/gen benchmarks examples examples/clients
each = for m in $(MODULES); do echo "== $$m"; (cd $$m && $(1)) || exit 1; done

# make demo SERVE=1 keeps running; make demo LISTEN=127.0.0.1:0 takes a free port.
SERVE ?=
LISTEN ?=
# make test SHORT=1 leaves out what takes more than a few seconds.
COUNT ?= 10
FUZZTIME ?= 60s
BENCHTIME ?= 1s
BASE ?=
BENCH ?= .
ROUNDS ?= 6

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 16

.PHONY: demo
demo: ## the main job: a real outage, survived and told; once built it ends within a minute
	@echo "building; the demo itself takes half a minute"
	@cd examples && go build -o ../bin/demo ./demo
	@./bin/demo $(if $(SERVE),-serve) $(if $(LISTEN),-listen $(LISTEN))

.PHONY: example
example: ## runs one example with a client: make example NAME=database (broker, smtp, sdk, connect, openapi)
	@cd examples/clients && go run ./$(or $(NAME),$(error which one? make example NAME=database))

.PHONY: test
test: ## all tests of all modules
	@$(call each,go test -count=1 ./...)
# -count=1: a test that reads a file of another module would be taken from the cache although the file has changed.

.PHONY: race
race: ## all tests with the race detector, COUNT times
	@$(call each,go test -race -count=$(COUNT) $$(case $$m in e2e) echo .;; dashboards/gen | examples/clients) echo -run=^$$ .;; *) echo ./...;; esac))
# What runs the engines of others is left out: they would be built with the detector for minutes.

.PHONY: check
check: format vet lint tidy alone generated ## everything but the tests: format, vet, lint, tidy, each module alone, generated code

.PHONY: format
format: ## fails if a file is not formatted
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not formatted, run gofmt -w on:"; echo "$$out"; exit 1; fi

.PHONY: vet
vet: ## go vet in every module
	@$(call each,go vet ./...)

.PHONY: lint
lint: bin/staticcheck ## staticcheck in every module
	@$(call each,$(CURDIR)/bin/staticcheck -checks all$(comma)-ST1000$(comma)-ST1003$(comma)-ST1016$(comma)-ST1020$(comma)-ST1021$(comma)-ST1022 ./...)
# Switched off: ST1000 and ST1020-22 ask for doc comments in a fixed form, which the architecture test asks for in ours;
# ST1003 dislikes underscores in test names; ST1016 dislikes that a method leaves its receiver unnamed.
comma := ,

bin/staticcheck: tools/go.mod tools/go.sum
	@cd tools && GOWORK=off go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

.PHONY: tidy
tidy: ## fails if a go.mod or go.sum is not tidy
	@$(call each,GOWORK=off go mod tidy -diff)

.PHONY: alone
alone: ## every module builds and vets without the workspace
	@$(call each,GOWORK=off go build -o /dev/null ./... && GOWORK=off go vet ./...)

.PHONY: generated
generated: ## generates the example's OpenAPI client anew; fails if it was not current
	@cd examples/clients/openapi/orders && go generate . && git diff --exit-code -- .

.PHONY: test-alone
test-alone: ## all tests of each module without the workspace
	@$(call each,GOWORK=off go test ./...)

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | sed 's/func //'); do \
	    echo "== $$pkg $$f"; (cd $$pkg && go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) .); done; done

.PHONY: bench
bench: ## benchmarks of the hot paths; the allocations are pinned by tests
	@$(call each,go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...)

.PHONY: bench-peers
bench-peers: ## the same work done by us and by our peers, side by side; writes docs/benchmarks.md
	@cd benchmarks && go run . -o ../docs/benchmarks.md && echo "see docs/benchmarks.md"

.PHONY: bench-scale
bench-scale: ## what a call costs while something grows: pipelines, layers, keys, goroutines, events; writes docs/scale.md
	@cd benchmarks && go run . -scale ../docs && echo "see docs/scale.md"

.PHONY: bench-compare
bench-compare: ## the hot paths' benchmarks against the last tag, or BASE=<commit>; only those that match BENCH=<pattern>
	@tools/bench-compare "$(BASE)" "$(BENCH)" "$(ROUNDS)"

.PHONY: golden
golden: ## writes the golden files and the tables of docs/ anew; read the diff
	@for d in $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
	  echo "== $$d"; (cd $$d && go test -count=1 -run Golden . -update) || exit 1; done

.PHONY: gen
gen: ## writes the dashboards, the rules and their manifests
	@cd dashboards/gen && go run .

.PHONY: screenshots
screenshots: ## takes the pictures of the console for the documentation anew; needs chromium
	@mkdir -p docs/images && cd e2e && go test -count=1 -run '^TestScreenshots$$' ./browser -args -screenshots $(CURDIR)/docs/images

.PHONY: cover
cover: ## statement coverage of each module
	@$(call each,go test -cover ./...)

.PHONY: clean
clean: ## removes what was built
	@rm -rf bin dist
