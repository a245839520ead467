# Larder's two commands are `make run` and `make test`; `make help` lists the rest.
# Everything that is built or fetched goes to .cache/ (ignored by git) and to Go's own caches.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

CACHE    := .cache
LARDER   := $(CACHE)/bin/larder
CLIENTS  := $(CACHE)/clients
FUZZTIME ?= 10s

# What `make test` installs with, and what `make test-clients` adds.
CURRENT_CLIENTS := tofu-1.12.6 terraform-1.5.7
OLDER_CLIENTS   := tofu-1.6.3 tofu-1.8.11 tofu-1.9.4 tofu-1.10.10
OTHER_TOOLS     := checkov-3.3.30 renovate-44.121.2 trivy-0.60.0 cdktf-0.21.0
PROVIDER        := terraform-provider-time-0.14.2
RELEASE         := goreleaser-2.8.0 sources-$(PROVIDER)

TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: need-go larder ## build and serve the registry in the foreground; state goes to .larder/
	@exec $(LARDER) serve

.PHONY: larder
larder: ## build the larder command
	@go build -trimpath -ldflags="-s -w" -o $(LARDER) ./cmd/larder

.PHONY: build
build: need-go larder ## build the functions: build/<function>/bootstrap and build/<function>.zip for Lambda, and bootstrap for this machine
	@GOOS=linux GOARCH=arm64 scripts/build-functions build
	@go run ./functions/internal/pack build
	@scripts/build-functions $(CACHE)/functions

.PHONY: test
test: need-all dynamodb keycloak check check-templates unit e2e ## everything: format, vet, staticcheck, unit tests with -race, then end to end with the real CLIs

.PHONY: check
check: ## formatting, go.mod, vet and staticcheck
	@echo "== check"
	@unformatted=$$(gofmt -l .); \
	  if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:" $$unformatted >&2; exit 1; fi
	@go mod tidy -diff >/dev/null || { echo "go.mod or go.sum is not tidy, run go mod tidy" >&2; exit 1; }
	@go vet ./... && go vet -C tools/mutants ./... && go vet -C tools/awsstub ./...
	@$(TOOL) staticcheck ./...
	@for tool in mutants awsstub; do (cd tools/$$tool && go tool -modfile=../go.mod staticcheck ./...); done

.PHONY: check-templates
check-templates: ## lint template.yaml, adopt.yaml and infra/; installs the linters once
	@echo "== templates"
	@scripts/templates/check $(CACHE)

.PHONY: unit
unit: ## unit tests and fuzz seeds with the race detector, and without it those that take long with it
	@echo "== unit tests with the race detector"
	@CGO_ENABLED=1 go test -race -short ./...
	@go test -C tools/mutants ./...
	@echo "== unit tests that it leaves out"
	@packages=$$(grep -rl --include='*_test.go' 'testing\.Short()' [a-z]* | xargs dirname | sort -u | sed 's|^|./|'); \
	  tests=$$(tools/left-out $$packages); \
	  LARDER_FAULTS=catalog go test -run "$$tests" $$packages

.PHONY: dynamodb
dynamodb: ## fetch Amazon's DynamoDB Local for the tests, once
	@scripts/fetch-dynamodb

.PHONY: keycloak
keycloak: ## fetch Keycloak, with which the tests log in, once
	@scripts/fetch-keycloak

# Both doors to the registry: `larder serve`, and the functions as template.yaml deploys them.
DOORS ?= node aws

# -count=1, because Go's test cache does not see the binaries that the tests run.
E2E = LARDER_E2E=$(abspath $(LARDER)) LARDER_E2E_FUNCTIONS=$(abspath $(CACHE)/functions) \
  LARDER_E2E_BUILT=$(abspath $(CLIENTS)) go test -count=1 -parallel=4 -timeout=20m ./e2e

# Starts a Keycloak beside a command, and stops it afterwards. All tests of the command share it.
WITH_KEYCLOAK := $(CACHE)/bin/with-keycloak

# The clients against a node whose origin is on this machine, for which there is no setting.
E2E_PULL = LARDER_E2E_BUILT=$(abspath $(CLIENTS)) go test -count=1 -timeout=10m \
  -run '^TestClientsPullThrough$$' ./internal/node/serve

.PHONY: e2e-binaries
e2e-binaries: larder
	@scripts/build-functions $(CACHE)/functions
	@go build -o $(WITH_KEYCLOAK) ./internal/keycloaktest/with
	@go build -C tools/awsstub -o $(abspath $(CACHE))/bin/ .

.PHONY: e2e
e2e: e2e-binaries dynamodb keycloak ## end to end by DOORS (node aws): the AWS CLI, Terraform and OpenTofu
	@scripts/build-clients $(CLIENTS) $(PROVIDER) $(RELEASE) $(CURRENT_CLIENTS)
	@$(WITH_KEYCLOAK) $(MAKE) doors
	@echo "== end to end, pulling through"
	@LARDER_E2E_CLIENTS="$(CURRENT_CLIENTS)" $(E2E_PULL)

.PHONY: doors
doors:
	@for door in $(DOORS); do \
	  echo "== end to end, door: $$door"; \
	  LARDER_E2E_DOOR=$$door LARDER_E2E_CLIENTS="$(CURRENT_CLIENTS)" $(E2E); \
	done

.PHONY: test-clients
test-clients: need-all need-tools e2e-binaries dynamodb ## end to end over older clients and other tools, too; renews the README's table of tested clients
	@scripts/build-clients $(CLIENTS) $(PROVIDER) $(CURRENT_CLIENTS) $(OLDER_CLIENTS) $(OTHER_TOOLS)
	@for door in $(DOORS); do \
	  LARDER_E2E_DOOR=$$door LARDER_E2E_CLIENTS="$(CURRENT_CLIENTS) $(OLDER_CLIENTS)" LARDER_E2E_TOOLS="$(OTHER_TOOLS)" \
	    LARDER_E2E_RENEW_TABLE=1 $(E2E) -v -run 'AndApplied$$|^TestTool'; \
	done

.PHONY: fuzz
fuzz: need-go ## every fuzz target for FUZZTIME (10s)
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "== $$package $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package; \
	  done; \
	done

.PHONY: faults
faults: need-all dynamodb ## let every call of publishing fail in turn, on all engines, and print the table; takes minutes
	@LARDER_FAULTS=all go test -count=1 -timeout=60m -v -run '^TestEveryCallMayFail$$' ./pkg/publish

.PHONY: mutants
mutants: need-go ## break the code of ROOM=pkg/... in small ways, and print what its tests do not notice; MUTANTS="-sample 40" for less
	@go build -C tools/mutants -o $(abspath $(CACHE))/bin/mutants .
	@$(CACHE)/bin/mutants $(MUTANTS) $(ROOM)

# All settings are flags of the command, for example: make bench BENCH="-doors node -clients 1".
.PHONY: bench
bench: need-go bench-binaries ## measure requests by all doors, beside the machine's limits; CELLS='download*' for some of them, PEER= for another registry beside it
	@$(CACHE)/bin/bench -cells '$(CELLS)' $(BENCH)

.PHONY: bench-binaries
bench-binaries: larder
	@scripts/build-functions $(CACHE)/functions
	@scripts/build-functions $(CACHE)/functions ./bench/echo ./functions/testdata/empty
	@go build -o $(CACHE)/bin/bench ./bench

.PHONY: older
older: need-go dynamodb ## keep what this version writes, for tests of later ones, in a new folder of internal/oldertest/testdata
	@LARDER_WRITE_OLDER=$$(date -u +%F) go test -count=1 -run '^TestWriteOlder' ./internal/node/serve ./functions

.PHONY: vuln
vuln: need-go ## known vulnerabilities in the dependencies; asks an online database, which is why `make test` does not
	@$(TOOL) govulncheck ./...

.PHONY: clean
clean: ## remove .cache/ (Go's own caches stay)
	@rm -rf $(CACHE)

# What this machine must have. All missing tools are named at once, before anything long starts. Without a browser,
# tests that log in are skipped. Without the last two, which only Linux has, the tests of a full disk and of the
# systemd unit are skipped. In CI nothing is skipped.
.PHONY: need-go need-all need-tools
need-go:
	@scripts/need go
need-all:
	@scripts/need go cc git curl aws gpg java mvn python3 $(if $(CI),chromium $(if $(filter Linux,$(shell uname -s)),unshare systemd-analyze))
need-tools:
	@scripts/need node npm
