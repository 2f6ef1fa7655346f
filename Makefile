# The targets are the steps of .ci/run, which describes them and is what CI runs. make is not
# needed to build the program: go build ./cmd/roce-fabric is enough.

GO ?= go
CI_RUN = bash .ci/run

# The packages whose golden files `make golden` rewrites: those whose tests have a flag
# -update.
GOLDEN_PKGS ?= $(shell grep -rl '"update"' --include='*_test.go' . | xargs -r -n1 dirname | sort -u)

BENCH ?= .
BENCHTIME ?= 1s
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help build operator test nightly race fmt vet lint tidy generate golden fuzz bench bench-report demo man release site ci

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r t d; do printf '  %-13s %s\n' "$$t" "$$d"; done

OUT ?= bin/
build: ## the program, as bin/roce-fabric
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace,nethttpomithttp2 -ldflags "-s -w" -o $(OUT) ./cmd/roce-fabric

operator: ## the operator of Kubernetes, as bin/roce-fabric-operator
	CGO_ENABLED=0 $(GO) build -C kubernetes -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$(VERSION)" -o $(abspath $(OUT))/ ./cmd/roce-fabric-operator

man: ## the manual pages, as bin/man/*.1
	@rm -rf bin/man
	$(GO) run ./cmd/roce-fabric man --out bin/man

test: ## the tests
	$(GO) test ./...

nightly: ## the tests at full size, faults by chance, a release, fuzzing, benchmarks: five hours
	@$(CI_RUN) nightly

race: ## the tests under the race detector
	@$(CI_RUN) race

fmt: ## formats the source
	gofmt -w $(shell find . -name '*.go' -not -path '*/.*/*' -not -path '*/testdata/*')

vet: ## go vet
	@$(CI_RUN) vet

lint: ## staticcheck, as pinned in tools/
	@$(CI_RUN) lint

tidy: ## makes go.mod and go.sum agree with the source
	$(GO) mod tidy
	$(GO) -C tools mod tidy

generate: ## generated files
	$(GO) generate ./...

golden: ## rewrites golden files; review the diff like code
	@test -n "$(GOLDEN_PKGS)" || { echo "no package has golden files with a flag -update" >&2; exit 1; }
	$(GO) test $(GOLDEN_PKGS) -update

fuzz: ## every fuzz target, FUZZTIME=30s each
	@FUZZTIME=$(FUZZTIME) $(CI_RUN) fuzz

bench: ## benchmarks, BENCH=regexp BENCHTIME=1s
	@BENCH='$(BENCH)' BENCHTIME=$(BENCHTIME) $(CI_RUN) bench

bench-report: ## benchmarks three times, and the table of bench/README.md from them
	@mkdir -p bin
	@BENCHCOUNT=3 BENCHTIME=$(BENCHTIME) $(CI_RUN) bench >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	@$(GO) -C tools run ./benchreport $(CURDIR)/bin/bench.txt

demo: ## the lab demo of the README
	@$(CI_RUN) demo

release: ## the files of a release, from the last commit, as bin/release
	@$(CI_RUN) release

site: docs/site/node_modules/.package-lock.json ## the pages of docs/ as a site with search, bin/site/index.html; needs Node.js 18
	@npm run build --prefix docs/site

docs/site/node_modules/.package-lock.json: docs/site/package-lock.json docs/site/package.json
	npm ci --prefix docs/site --prefer-offline --no-audit --no-fund --ignore-scripts
	@touch $@

ci: ## all that must hold before a change lands
	@$(CI_RUN)
