# One set of build flags, shared by builds, tests and benchmarks: changing it compiles
# SQLite again (more than a minute). packaging/build, for containers and packages, has its own.
export GOFLAGS := -tags=sqlite_fts5
export CGO_ENABLED := 1

# Real meetings for tests and benchmarks; what wants them skips without them.
export MINUTEBOOK_CORPUS ?= $(abspath ../shared/corpus)

VERSION := $(shell packaging/version)
LDFLAGS := -X main.version=$(VERSION)

# Checks beyond go vet; a function that no program reaches is deleted.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.52.0

.PHONY: help build static dist image demo screenshots test vet browser programs race plain long soak simulate mutate bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

build: ## bin/minutebook
	go build -ldflags "$(LDFLAGS)" -o bin/minutebook ./cmd/minutebook

static: ## bin/minutebook without shared libraries, as the container has it
	packaging/build bin/minutebook

dist: ## the packages of a release in bin/dist: archives, .deb, .rpm, licences, checksums
	rm -rf bin/dist
	packaging/dist bin/dist

image: ## the container minutebook
	docker build --build-arg VERSION=$(VERSION) -t minutebook .

demo: build ## the whole of it on invented meetings, without an account
	@bin/minutebook demo

screenshots: browser ## docs/img, by the real browser on invented meetings
	@mkdir -p docs/img
	@MINUTEBOOK_SCREENSHOTS=$(CURDIR)/docs/img go test -count=1 -run TestScreenshots ./web

# The tests of the program take longest, and often wait: plain begins first. The checks of vet
# wait for nothing, and fill what is left of the processors.
test: ## everything that must hold before a change lands
	@$(MAKE) --no-print-directory -j2 -Oline plain race vet
	@test -d "$(MINUTEBOOK_CORPUS)" || echo "make test: no real meetings: tests that need them were skipped; set MINUTEBOOK_CORPUS to their folder"

# Tests, the programs that they start and the checks of vet trade memory for fewer collections.
# Tests keep their files in memory where there is room. Those under the race detector do not
# sleep a second at their end to wait for its reports.
race plain vet: export GOGC := 400
race plain: export TMPDIR = $(shell packaging/memory-disk)
race: export GORACE := atexit_sleep_ms=0

race: programs ## all tests under the race detector, but for those that call testrun.SkipUnderRace
	packaging/test-under-race

plain: programs ## the tests that call testrun.SkipUnderRace, without it
	packaging/test-without-race

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	@packaging/deadcode $(DEADCODE)

browser: ## what the pages' tests need beside Go: Chromium, and packages of npm in the user's cache
	@packaging/install-debian chromium-headless-shell=chromium-headless-shell,fonts-dejavu-core || command -v chromium >/dev/null || command -v chromium-browser >/dev/null
	@packaging/install-npm axe-core 4.14.1
	@packaging/install-npm oidc-provider 8.8.1

programs: browser ## and restic and age, for which docs/backup.md has recipes, ffmpeg, which cuts clips, systemd's verifier, and strace
	@packaging/install-debian restic age-keygen=age ffmpeg strace systemd-analyze=systemd

# A test whose program cannot be installed is skipped, and named at the end; with CI=1 it fails.
long: ## the long runs of the crash tests, whole years of the seeds that once failed, packages, DuckDB, five minutes of everything at once under the race detector, and a minute of every fuzz target
	@packaging/install-npm @duckdb/node-api 1.5.6-r.1
	@packaging/install-debian debootstrap systemd-nspawn=systemd-container
	-@packaging/install-debian buildah rpm aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu,libc6-dev-arm64-cross qemu-aarch64=qemu-user
	packaging/fuzz 60s
	MINUTEBOOK_SOAK=5m go test -race -timeout 0 -run 'TestSoak$$' ./cmd/minutebook
	MINUTEBOOK_LONG=1 MINUTEBOOK_CHECKS=200 go run ./packaging/skips -timeout 240m ./...

soak: ## everything at once for an hour (FOR=5m): what grows for ever? Plot and table in bin
	@mkdir -p bin
	MINUTEBOOK_SOAK=$(or $(FOR),1h) MINUTEBOOK_SOAK_OUT=$(CURDIR)/bin go test -count=1 -v -timeout 0 -run 'TestSoak$$' ./cmd/minutebook

simulate: ## simulated years on every core: SEEDS=20 or FOR=1h, CORES=1
	@packaging/simulate

mutate: ## put known faults back one by one: each has to be noticed
	MINUTEBOOK_MUTATE=1 go test -v -timeout 0 -run TestMutations ./simulation/mutations

bench: ## the figures of docs/benchmarks.md, as ratios against peers in the same run: MEETINGS=1000
	packaging/bench

clean:
	rm -rf bin
