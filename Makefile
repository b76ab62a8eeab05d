# One set of build flags, shared by builds, tests and the Dockerfile: changing it
# compiles SQLite again (more than a minute).
export GOFLAGS := -tags=sqlite_fts5
export CGO_ENABLED := 1

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: build
build: ## bin/minutebook
	go build -ldflags "-X main.version=$(VERSION)" -o bin/minutebook ./cmd/minutebook
