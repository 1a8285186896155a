# Everything that a contributor or CI does has a target here. `make help` lists them.

GO           ?= go
TEST_TIMEOUT ?= 10m
TESTFLAGS    ?=
FUZZTIME     ?= 10s
BENCH        ?= .
BENCHTIME    ?= 200ms
BENCHCOUNT   ?= 5
BENCHUNIT    ?= ns/op
OVERLOAD     ?= -experiments all -repeats 5 -at-once 3
GOLANGCI     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BIN          := $(CURDIR)/bin

.DEFAULT_GOAL := help
.PHONY: help build test deps format-check vet unit bench-module lint fuzz soak mutants bench overload fault-tour path figures docs demo fleet-demo observe picture clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

build: ## build the command into bin/plimsoll
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o $(BIN)/plimsoll ./cmd/plimsoll

test: deps format-check vet unit bench-module ## everything that must pass, with -race; installs what it needs

deps: ## install the Debian packages that the tests need, if any is missing
	@scripts/install-deps.sh

format-check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

vet:
	$(GO) vet ./...

unit:
	$(GO) test -race -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...

bench-module: # its own module, so that the rivals are nobody else's dependencies
	cd bench && $(GO) vet ./... && $(GO) test -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...

lint: $(BIN)/golangci-lint ## golangci-lint, both modules; the first run builds it
	$(BIN)/golangci-lint run ./...
	cd bench && $(BIN)/golangci-lint run --config ../.golangci.yml ./...

$(BIN)/golangci-lint: Makefile
	GOBIN=$(BIN) $(GO) install $(GOLANGCI)

fuzz: ## every fuzz target for FUZZTIME (10s)
	scripts/fuzz.sh $(FUZZTIME)

soak: ## property tests with 20,000 cases each under -race, then every fuzz target for 2m
	scripts/soak.sh

mutants: ## plant faults one by one; the tests must catch each
	$(GO) run ./internal/mutants

bench: ## measure ours and the rivals, and write docs/benchmarks.md
	cd bench && $(GO) run ./cmd/report -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(BENCHCOUNT) -unit $(BENCHUNIT) -out ../docs/benchmarks.md

overload: ## offer more than can be done, to ours and the rivals, for some hours; writes docs/overload
	cd bench && $(GO) build -o $(BIN)/overload ./cmd/overload && $(BIN)/overload tour $(OVERLOAD) -out ../docs/overload

fault-tour: ## break Redis in every way, measure what callers notice, and write the table of docs/faults.md: five minutes
	$(GO) run ./internal/faults/tour -out docs/faults.md

path: ## print the functions of the decision path, with their lengths
	@$(GO) run ./internal/path

figures: ## print how the code reads: lengths of functions and files, documented names
	@$(GO) test -count=1 -run '^TestFigures$$' -v ./internal/deptest | grep -v -E '^(=== |--- |ok|PASS)'

docs: ## regenerate the files that are generated
	$(GO) generate ./...

demo: ## a payments service in three times the traffic that it can bear
	$(GO) run ./cmd/plimsoll demo

fleet-demo: ## three workers that share limits in a Redis, which is stopped and frozen
	$(GO) run ./cmd/plimsoll demo --fleet

observe: ## a fleet in a bad hour, scraped by a real Prometheus: draws docs/dashboards/*.svg from it
	$(GO) test -count=1 -run '^TestEveryPanelHasData$$' -v ./internal/observe -length 64s -pictures '$(CURDIR)/docs/dashboards'

picture: ## run the demo and draw docs/demo.svg
	scripts/picture.sh '$(GO) run ./cmd/plimsoll demo' > docs/demo.svg

clean: ## remove what was built
	rm -rf bin build
