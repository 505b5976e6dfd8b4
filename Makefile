.PHONY: help check test lint fmt demo bench

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

check: ## everything that must be green before a push
	./test.sh

test: ## all tests, with the race detector
	go test -race ./...

lint: ## the walls of the house and the pinned linters
	go tool -modfile=tools/go.mod golangci-lint run

fmt: ## formats all Go files
	go tool -modfile=tools/go.mod golangci-lint fmt

demo: ## a healthy rollout and a bad one, in a minute
	go run ./cmd/rolloutd demo

bench: ## all benchmarks
	go test -run '^$$' -bench . -benchmem ./...
