# What a contributor does with this repository. `make` prints the targets.
#
# Tools are pinned: those in tools/go.mod run through `go tool`, golangci-lint
# is built from source into .bin once, in the version given here, because its
# hundreds of requirements would drag the versions of all others along.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_VERSION := v2.15.0
GOLANGCI := .bin/golangci-lint-$(GOLANGCI_VERSION)
TOOL     := go tool -modfile=tools/go.mod

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMAND  := github.com/pbs-like/pbs-like/cmd/pbs-like/command
FUZZTIME ?= 10s
BASE     ?= HEAD~1
COUNT    ?= 6
PKG      ?= ./...
ARGS     ?=

.PHONY: help
help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-14s %s\n", $$1, $$2 }'

.PHONY: build
build: ## build a static binary, bin/pbs-like
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X $(COMMAND).buildVersion=$(VERSION)' -o bin/pbs-like ./cmd/pbs-like

.PHONY: test
test: ## run all tests (PKG=./flock/ for one package, ARGS=-run=Name)
	go test -timeout 30m $(ARGS) $(PKG)

.PHONY: thorough
thorough: ## run the biggest enumerations of the datastore's tests whole (an hour)
	PBS_LIKE_THOROUGH=1 go test -timeout 3h $(ARGS) ./datastore/

.PHONY: race
race: ## run all tests with the race detector
	go test -race -short -timeout 30m $(ARGS) $(PKG)

.PHONY: cover
cover: ## measure what the tests reach, coverage.html
	go test -coverprofile=coverage.out -coverpkg=./... $(ARGS) $(PKG)
	go tool cover -html=coverage.out -o coverage.html
	go tool cover -func=coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME=10s
	@for pkg in $$(go list $(PKG)); do \
	  for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; \
	done

.PHONY: bench
bench: ## run the benchmarks, COUNT=6 times
	go test -run '^$$' -bench . -benchmem -count $(COUNT) $(ARGS) $(PKG)

.PHONY: bench-compare
bench-compare: ## compare the benchmarks with those of BASE=HEAD~1
	scripts/bench-compare.sh '$(BASE)' '$(COUNT)' '$(PKG)' $(ARGS)

.PHONY: lint
lint: golangci rules ## look for mistakes and for what the rules forbid

.PHONY: staticcheck
staticcheck: ## staticcheck alone, which golangci-lint runs too
	$(TOOL) staticcheck ./...

.PHONY: golangci
golangci: $(GOLANGCI) # with vet, staticcheck and the format
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION), once: this takes a few minutes'
	GOBIN=$(CURDIR)/.bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .bin/golangci-lint $@

.PHONY: rules
rules: ## check the rules of this repository: floors, bans, sizes, links
	go test -count=1 ./internal/lint/

.PHONY: tools
tools: $(GOLANGCI)
	go -C tools build -o /dev/null tool

# The object store that tests of locks run against: it has hundreds of requirements
# of its own, so it is in no go.mod. The tests find it in .bin.
VERSITYGW_VERSION := v1.8.0

.PHONY: object-store
object-store: .bin/versitygw-$(VERSITYGW_VERSION) ## build the object store that tests run against

.bin/versitygw-$(VERSITYGW_VERSION):
	dir=$$(mktemp -d) && GOBIN="$$dir" GOFLAGS=-mod=mod go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION) && \
	  mkdir -p .bin && mv "$$dir/versitygw" $@ && rmdir "$$dir"

.PHONY: fmt
fmt: $(GOLANGCI) ## format all Go files
	$(GOLANGCI) fmt ./...

.PHONY: tidy-check
tidy-check:
	go mod tidy -diff

.PHONY: vuln
vuln: ## look for known vulnerabilities, without asking a service
	scripts/vuln.sh

.PHONY: check
check: tidy-check lint ## everything but the tests: modules, format, lint

.PHONY: ci
ci: check vuln build race test ## what .ci/run runs, in this order

.PHONY: demo
demo: build ## a tour of the program in a temporary directory
	scripts/demo.sh

.PHONY: man
man: build ## write the manual page, bin/pbs-like.1
	bin/pbs-like man >bin/pbs-like.1

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .bin coverage.out coverage.html
