# One set of build flags, shared by builds, tests, benchmarks and the
# Dockerfile: changing it compiles SQLite again (more than a minute).
export GOFLAGS := -tags=sqlite_fts5
export CGO_ENABLED := 1

# Real meetings for tests and benchmarks; what wants them skips without them.
export MINUTEBOOK_CORPUS ?= $(abspath ../shared/corpus)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: help build static demo test vet browser restic race corpus long bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

build: ## bin/minutebook
	go build -ldflags "$(LDFLAGS)" -o bin/minutebook ./cmd/minutebook

static: ## bin/minutebook without shared libraries, as the container has it
	go build -ldflags "$(LDFLAGS) -linkmode external -extldflags -static" \
		-tags=sqlite_fts5,netgo,osusergo -o bin/minutebook ./cmd/minutebook

demo: build ## the whole of it on invented meetings, without an account
	@bin/minutebook demo

test: vet browser restic ## everything that must hold before a change lands
	@$(MAKE) --no-print-directory -j2 -Oline race corpus

# Four packages at a time: many of their tests wait for something.
race: ## all tests, looking for races
	go test -race -vet=off -p 4 -timeout 30m $$(go list ./... | grep -v /bench/)

# The tests, by name, that are mostly work, or start many programs: they take
# several times as long under the race detector, so it does not see them. The
# packages' own tests of the same code run under it.
PLAIN := Corpus|RealMeetings|Figure|Administered|Bucket|FullDisk|ServeKilled|ServiceKilled|Restic|AreBleves|IsBleves|OneByOne|WhatIsKept|InAnyOrder|AnyOrderEnds|WhoSeesWhat|EverySizeThat|FaultsOfForms|FaultsOfAnswers|RepairLosesNothing|BackupKilled|AbsurdAnswers|IncrementalIsRebuilt

# It mostly waits for the service's limits, so it runs beside the others.
corpus: ## the real meetings, what starts many programs, and the figures' tests, without the race detector
	go test -vet=off -timeout 30m -run '$(PLAIN)' ./cmd/minutebook ./api ./archive ./receiver ./search ./service ./bench/...

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...

browser: ## what the tests need beside Go: Chromium, and axe-core in the user's cache
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || packaging/install-debian chromium fonts-dejavu-core
	@packaging/install-axe

restic: ## and restic, for which docs/backup.md has a recipe
	@command -v restic >/dev/null || packaging/install-debian restic

long: ## the long runs of the crash tests and a minute of every fuzz target
	packaging/fuzz 60s
	MINUTEBOOK_LONG=1 go test -timeout 120m ./...

bench: ## the figures, as ratios against a peer in the same run
	packaging/bench

clean:
	rm -rf bin
