# Needs Node 20 or later, npm and make; everything else is installed into node_modules. Programs run on the Node of
# node_modules, whatever the system's is: always through npm.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help up down test verify lint test-unit test-e2e test-cluster test-clients test-api property conformance soak bench bench-operator images clean

# npm writes this file when it is done.
INSTALLED := node_modules/.package-lock.json
SOURCES := $(shell find crds lib operator local management cli runtime scripts/build.ts scripts/undici-parts.ts -name '*.ts' ! -name '*.test.ts' 2>/dev/null)
# So that `npx vmcp` runs this build.
LINK := node_modules/.bin/vmcp
RUN := npm run --silent
FETCHED := node_modules/.fetched-for-images

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-14s %s\n' "$$name" "$$text"; done

$(INSTALLED): package.json package-lock.json
	@echo 'installing packages (npm ci) ...'
	@npm ci --no-audit --no-fund
	@touch $@

dist/vmcp.js: $(INSTALLED) $(SOURCES)
	@echo 'building dist/ ...'
	@$(RUN) build
	@touch $@

$(LINK): dist/vmcp.js
	@ln -sf ../../dist/vmcp.js $@

up: $(LINK) ## start the quickstart: one endpoint for six MCP servers, with one login at two providers; returns when ready
	@$(RUN) quickstart:up

down: $(LINK) ## stop the quickstart
	@$(RUN) quickstart:down

# Their network has no registry where tests build images: what these add to the locked packages is fetched before.
$(FETCHED): $(INSTALLED)
	@npm install --silent --no-save --ignore-scripts --no-audit --no-fund --prefix "$$(mktemp -d)" \
	  "esbuild@$$(node -p 'require("./package.json").devDependencies.esbuild')" && touch $@

test: $(LINK) $(FETCHED) ## all tests: unit, end to end, on a real cluster, conformance
	@$(RUN) test:all

test-unit: $(INSTALLED) ## tests that stand beside the code
	@$(RUN) test:all -- unit

test-e2e: $(LINK) $(FETCHED) ## tests of the built programs on this machine
	@$(RUN) test:all -- e2e

test-cluster: $(LINK) ## tests on a real Kubernetes cluster, which root on Linux builds and starts; or E2E_CLUSTER=kind, E2E_KUBECONFIG=...
	@$(RUN) test:all -- cluster

conformance: $(LINK) ## the official MCP conformance suite, through the gateway
	@$(RUN) test:all -- conformance

soak: $(LINK) ## gateways under load and faults for MINUTES=30 at RATE=200 calls a second, with servers and clients of the official SDKs
	@node_modules/.bin/node e2e/sdk-servers/install-python.ts || echo 'without the Python SDK'
	@$(RUN) soak -- --minutes $(or $(MINUTES),30) --rate $(or $(RATE),200)

lint: $(INSTALLED) ## style, import walls, size limits, types
	@$(RUN) lint
	@$(RUN) types

verify: $(INSTALLED) ## regenerate what is generated, lint, check the features page; fails on any difference
	@$(RUN) verify

test-clients: $(INSTALLED) ## log in with Claude Code, Codex CLI, mcporter and fastmcp, which it installs (850 MB)
	@$(RUN) test:all -- clients

test-api: $(LINK) ## property tests of the management API from its OpenAPI document, by schemathesis, which it installs
	@$(RUN) test:all -- property

property: export RUNS := $(or $(RUNS),20000)
property: $(INSTALLED) ## RUNS=20000 folders from the schemas: what the planner accepts, the runtime serves; SEED=... for others
	@$(RUN) test -- --forceExit e2e/accepted/

bench: $(LINK) ## speed and memory beside a direct call and a bare proxy; writes docs/internals/benchmarks.md
	@$(RUN) bench

bench-operator: $(LINK) ## the operator among thousands of resources, on an API server of its own; writes docs/internals/benchmarks-operator.md
	@$(RUN) bench-operator

images: ## container images vmcp-operator and vmcp-runtime, with podman, docker or buildah; NODE_IMAGE=... for another base
	@engine=$$(command -v podman || command -v docker || command -v buildah) || { echo 'install podman or docker'; exit 1; }; \
	revision=$$(git rev-parse HEAD 2>/dev/null || echo unknown); \
	for image in operator runtime; do "$$engine" build -f "$$image/Dockerfile" -t "vmcp-$$image" \
	  $(if $(NODE_IMAGE),--build-arg NODE_IMAGE=$(NODE_IMAGE)) --build-arg REVISION=$$revision . || exit 1; done

clean: ## remove what was built and installed; stop the quickstart first
	rm -rf dist coverage node_modules
