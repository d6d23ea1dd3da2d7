# `make help` lists the targets. Tools are built from the modules in tools/,
# so that a clone needs nothing but Go, gcc, make and git.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash

# The modules with our Go code, and all modules.
MODULES     := . e2e internal/render/helmtest tools/image tools/release
# Except the one of the site, which needs hundreds of modules: see make test-site.
ALL_MODULES := $(shell git ls-files '*go.mod' | grep -v '^tools/site/' | sort | xargs -n1 dirname)

# Packages in which goroutines share data are tested with the race detector. Others
# test limits on time and memory, so they run without it.
RACE := /(cmd|internal/(cli/(diff|simulate|snapshot)|kube/(access|kind|leader|memserver|openapi|request|watch)|operator|reconcile/(permissions|podlogs|queue|record|related|running|status)))(/|$$)|/internal/(cli|kube|reconcile)$$
# Tests of these packages that measure memory: they run without the race detector.
PLAIN = $(shell grep -rl --include '*_test.go' '^//go:build !race' internal/operator/controllers internal/kube internal/reconcile | xargs sed -n 's/^func \(Test[A-Za-z0-9]*\).*/\1/p' | paste -sd'|')

# The packages that work offline: for tools and for browsers.
OFFLINE := ./api/... ./internal/render/finding ./internal/lint/... ./internal/kube/openapi ./internal/kube/kind ./internal/kube/request ./internal/kube/memserver ./internal/kube/object ./internal/render ./internal/render/budget ./internal/render/data ./internal/render/document ./internal/render/funcs ./internal/render/syntax ./internal/render/token ./internal/kube/seal ./internal/reconcile/spec \
	./internal/cli/explain ./internal/cli/rbac ./internal/cli/scaffold/... ./internal/reconcile/permissions ./internal/cli/simulate/... ./internal/cli/cases ./internal/cli/tree ./internal/cli/playground ./cmd/playground \
	./internal/reconcile/child ./internal/reconcile/plan ./internal/reconcile/problem ./internal/reconcile/readiness \
	./internal/reconcile/status ./internal/reconcile/related

# The output of templater version; if empty, Go derives it from the commit.
VERSION     ?=
IMAGE       ?= templater:dev
PLATFORMS   ?= linux/amd64,linux/arm64
PUSH        ?= false
# For a release. DIRTY=true allows uncommitted changes.
DIRTY       ?= false
RELEASE_IMAGE ?= ghcr.io/templater-dev/templater
RELEASE_PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
BASE_URL    ?=
ARCHIVE     := bin/templater.tar

FUZZTIME    ?= 20s
FUZZ_EXECS  ?= 2000
MUTATE      ?= ./internal/reconcile/plan
E2E_TIMEOUT ?= 40m
# Prints each test when it ends, and repeats failures at the end.
GOTESTSUM   := go tool -modfile=$(CURDIR)/tools/gotestsum/go.mod gotestsum --format testname --
# Tests that cannot run in parallel: one needs the cluster with a real node for itself, one needs its own process, and one
# needs a garbage collector without other load.
E2E_ALONE   := ^(TestInstallPage|TestTemplateControllersLeakNoGoroutines|TestDeletedParentWaitsForOrderedChildDeletion)$$
# Tests that overload the API server or block the deletion of namespaces: make test-attacks.
E2E_ATTACKS := ^(TestConcurrentAttacksDoNotDelayNeighbors|TestFrequentEditsDoNotDelayNeighbors|TestAttacksDoNotExhaustStandbyMemory|TestBrokenParentConversionKeepsChildren)$$
CHAOS_TIME  ?= 3m
OFFLINE_SEED ?= 0
CHAOS_SEED  ?= 1:2,2:1,3
CHAOS_FLAGS ?= --seed 0 --time 1h --longest-fault 20s
RELATED_MANY ?= 10000
DIFF_MANY ?= 5000
STORED_MANY ?= 80
ATTACK_TIME ?= 5m
SELECTING_MANY ?= 3000
OFFLINE_CASES ?= 1000
BENCH_COUNT ?= 6
BENCH_SMALL := --scenarios all --counts --check --scale 0.05 --rounds 1 --floor-workers 8 --fairness-parents 500 --memory-sizes 100,500 --settle-time 1s --idle-time 1s
BENCH_FLAGS ?=
PLAYGROUND  ?= bin/playground

BIN         := .cache/bin
GEN         := $(BIN)/controller-gen-$(shell cksum < tools/gen/go.sum | cut -d' ' -f1)
LINT        := $(BIN)/golangci-lint-$(shell cksum < tools/lint/go.sum | cut -d' ' -f1)-$(shell go env GOVERSION)
# The linter runs at low priority, so the timeout only has to detect one that hangs.
LINT_FLAGS  ?= --concurrency 2 --timeout 60m

say = @printf '\n== %s\n' $(1)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: assets ## Build the operator: bin/templater
	go build -trimpath -tags playground$(if $(VERSION), "-ldflags=-X github.com/templater-dev/templater/internal/operator/version.released=$(VERSION)") -o bin/templater ./cmd/templater

.PHONY: image
image: ## Write the image IMAGE (templater:dev) for PLATFORMS to bin/templater.tar, without a container tool; PUSH=true also pushes it
	@mkdir -p bin
	@cd tools/image && go run . --name $(IMAGE) --version '$(VERSION)' --platforms $(PLATFORMS) --output $(CURDIR)/$(ARCHIVE) --push=$(PUSH)

# Run at low priority in parallel with the tests on clusters. The tests of the tools take seconds; they have their own lane, so that they run even
# if a unit test fails.
UNIT_LANES := 'unit: test-unit' 'tools: test-manifests test-image test-release test-helm'

.PHONY: release
release: ## Build the release files in dist: programs, image, install.yaml, chart, checksums (minutes); PUSH=true also pushes the image
	$(call say,'A release in dist')
	@cd tools/release && go run . --version '$(VERSION)' --dirty=$(DIRTY) --base-url '$(BASE_URL)' --image $(RELEASE_IMAGE) --platforms $(RELEASE_PLATFORMS) --output $(CURDIR)/dist --push=$(PUSH)

.PHONY: assets
assets: # builds the page of the playground, which is embedded in the program but not stored in the repository
	go run ./tools/playground

.PHONY: playground
playground: assets ## Write the playground to bin/playground, for any file server
	@rm -rf $(PLAYGROUND) && mkdir -p $(dir $(PLAYGROUND)) && cp -r internal/cli/playground/page/dist $(PLAYGROUND)

.PHONY: test
test: ## Run all tests, including those on a real cluster
	@MAKE='$(MAKE)' .ci/lanes 'cluster: test-cluster' --nice $(UNIT_LANES)
	$(call say,'All tests passed.')

.PHONY: check
check: ## Lint and test in parallel
	@# The playground fails if the browser gets too little CPU, so pages are not tested in parallel with clusters.
	@MAKE='$(MAKE)' .ci/lanes 'cluster: test-pages test-cluster' --nice $(UNIT_LANES) 'lint: lint wasm'
	$(call say,'Lint is content$(comma) all tests passed.')

.PHONY: test-cluster
test-cluster: cluster-build ## Run the tests that need a cluster, on two clusters in parallel
	@CLUSTER_BUILT=yes MAKE='$(MAKE)' .ci/lanes 'kwok: test-e2e-kwok test-chaos' 'node: test-e2e-node test-bench'

.PHONY: test-unit
test-unit: ## Run the tests that do not need a cluster
	$(call say,'Unit tests: packages without goroutines')
	@# A test that allocates without limit fails with its stack trace, and does not exhaust the machine.
	ulimit -v 12000000 2>/dev/null || true; go test -timeout 20m $$(go list ./... | grep -vE '$(RACE)')
	$(call say,'Unit tests: the concurrent packages$(comma) with the race detector')
	go test -race -timeout 20m $$(go list ./... | grep -E '$(RACE)')
	$(call say,'Unit tests: memory of the concurrent packages$(comma) without the race detector')
	go test -timeout 20m -run '^($(PLAIN))$$' ./internal/operator/controllers ./internal/kube/... ./internal/reconcile/...
	$(call say,'Cases of the samples')
	go run ./cmd/templater test config/samples

.PHONY: test-fuzz
test-fuzz: ## Fuzz internal/lint, internal/kube/object, internal/render and internal/render/document, FUZZTIME (20s) for each target; fewer than FUZZ_EXECS (2000) executions fail
	$(call say,'Fuzzing: $(FUZZTIME) for each target')
	@set -eo pipefail; \
	log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	for package in ./internal/lint ./internal/kube/object ./internal/render ./internal/render/document; do \
		targets=$$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
		if [ -z "$$targets" ]; then echo "no fuzz target found in $$package"; exit 1; fi; \
		for target in $$targets; do \
			go test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x | tee $$log; \
			execs=$$(sed -n 's/.*execs: \([0-9]*\) (.*/\1/p' $$log | tail -n 1); \
			if [ "$${execs:-0}" -lt $(FUZZ_EXECS) ]; then \
				echo "$$target was executed $${execs:-0} times, want at least $(FUZZ_EXECS): it stands still, or FUZZTIME is too short"; exit 1; \
			fi; \
		done; \
	done

.PHONY: mutate
mutate: ## Mutation testing of the package MUTATE (./internal/reconcile/plan) with gremlins: mutants that no test detects are reported as LIVED
	nice go tool -modfile=tools/gremlins/go.mod gremlins unleash --workers 1 $(MUTATE)

.PHONY: test-helm
test-helm: ## Compare rendering with Helm's own engine
	$(call say,'Comparison with the engine of Helm')
	cd internal/render/helmtest && go test ./...

.PHONY: test-manifests
test-manifests: ## Test the permissions and patches of config/components
	$(call say,'The manifests and their components')
	cd e2e && go test ./manifest

.PHONY: test-image
test-image: ## Test the image builder
	$(call say,'The container image')
	cd tools/image && go test ./...

.PHONY: test-release
test-release: ## Test the release builder, with a small program instead of templater
	$(call say,'The release')
	cd tools/release && go test ./...

.PHONY: test-release-whole
test-release-whole: cluster-build ## Build two releases from two clones, compare them, and install one with Helm and krew (many minutes)
	$(call say,'Two releases from two clones: minutes for each')
	cd tools/release && RELEASE_PLATFORMS=$(RELEASE_PLATFORMS) go test -tags whole -count=1 -timeout 90m -v -run '^(TestFullReleaseIsReproducible|TestChartInstallUpgradeUninstall)$$' .
	for system in windows darwin; do GOOS=$$system CGO_ENABLED=0 go vet -trimpath ./... || exit 1; done

.PHONY: test-e2e
test-e2e: test-e2e-kwok test-e2e-node ## Test the operator on a real cluster

.PHONY: test-e2e-kwok
test-e2e-kwok: cluster-build ## Test the operator in parallel, with simulated Pods
	$(call say,'End to end$(comma) most tests in parallel: the built operator on a real API server (minutes)')
	@cd e2e && TEMPLATER_E2E_MODE=kwok $(GOTESTSUM) -count=1 -timeout $(E2E_TIMEOUT) -skip '$(E2E_ALONE)|$(E2E_ATTACKS)' .

.PHONY: test-e2e-node
test-e2e-node: cluster-build ## Test the operator on a real node, and the packages of the cluster and the demo
	$(call say,'End to end$(comma) one after the other: templater installed on a real node (minutes)')
	@cd e2e && TEMPLATER_E2E_CLUSTER=e2e-node $(GOTESTSUM) -count=1 -timeout $(E2E_TIMEOUT) -run '$(E2E_ALONE)' .
	$(call say,'The cluster$(comma) the demo$(comma) the tools of the tests')
	@cd e2e && $(GOTESTSUM) -count=1 -p 1 -timeout $(E2E_TIMEOUT) $$(go list ./... | grep -v '/e2e$$')

.PHONY: test-chaos
test-chaos: cluster-build ## Inject faults for CHAOS_TIME (3m) and compare with a model; CHAOS_SEED (1:2,2:1,3: two rounds from 1, one from 2, then from 3) are its seeds, 0 selects a random seed
	$(call say,'Chaos: random actions and faults for $(CHAOS_TIME)$(comma) compared with a model')
	cd e2e && go run ./chaos --time $(CHAOS_TIME) --seed $(CHAOS_SEED)

.PHONY: test-related
test-related: cluster-build ## Count the requests per change with RELATED_MANY (10000) parents and related objects
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-related TEMPLATER_E2E_MODE=kwok go test -count=1 -v -run TestManyRelatedObjectsCauseFewRequests -related-many $(RELATED_MANY) .

.PHONY: test-stored
test-stored: cluster-build ## Store STORED_MANY (80) TemplateControllers of 1.25 MB in each of three ways that bypass the webhook, and check the operator's memory
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-stored TEMPLATER_E2E_MODE=kwok go test -count=1 -v -run TestOversizedTemplateControllersDoNotExhaustMemory -stored-many $(STORED_MANY) .

.PHONY: test-attacks
test-attacks: cluster-build ## Attack the shipped operator, first with each attack alone, then with ten at once for ATTACK_TIME (5m), with SELECTING_MANY (3000) parents (minutes)
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-attacks TEMPLATER_E2E_MODE=kwok go test -count=1 -v -parallel 1 -timeout $(E2E_TIMEOUT) -run '$(E2E_ATTACKS)|^TestRelatedSelectionMemoryIsLimited$$' -attack-time $(ATTACK_TIME) -selecting-many $(SELECTING_MANY) .

.PHONY: test-rbac
test-rbac: cluster-build ## Run all samples with minimal permissions, and again without each of them (minutes)
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-rbac TEMPLATER_E2E_MODE=kwok go test -count=1 -v -run TestGeneratedRBACIsMinimal -rbac-samples simpledeployment,loadtest,webshop,orchestr .

.PHONY: test-diff
test-diff: cluster-build ## Compare a TemplateController with DIFF_MANY (5000) parents on a cluster, in at most a minute and without writes
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-diff TEMPLATER_E2E_MODE=kwok go test -count=1 -v -run 'TestDiffReportsChangesWithoutWrites$$' -diff-many $(DIFF_MANY) .

.PHONY: test-offline
test-offline: cluster-build ## Compare OFFLINE_CASES (1000) random TemplateControllers on a cluster and offline (many minutes); OFFLINE_SEED (0: random) repeats a run
	cd e2e && TEMPLATER_E2E_CLUSTER=e2e-offline TEMPLATER_E2E_MODE=kwok go test -count=1 -v -timeout 90m -run TestOfflineEqualsCluster -seed $(OFFLINE_SEED) -offline-cases $(OFFLINE_CASES) .

# Tests of features that must not depend on clocks: finalize, rollingUpdate and seals.
SKEW_TESTS := ^(TestDeletedParentWaitsForOrderedChildDeletion|TestTeardownAlwaysReleasesParents|TestParentsDeletedWithNamespaceOrCRD|TestSuspensionDoesNotUseUpFinalizeTimeout|TestRolloutReplacesFewPodsAtATime|TestCopiedChildrenAreIgnored|TestDriftByOwnFieldManagerIsRepaired|TestSealKeyRotationAndLoss)$$

.PHONY: test-skew
test-skew: cluster-build ## Test finalize, rollingUpdate and seals with the operator's clock 10 minutes ahead and behind (minutes)
	@for by in 10m -10m; do \
		printf '\n== The clock of the operator is off by %s\n' "$$by"; \
		(cd e2e && TEMPLATER_E2E_CLUSTER=e2e-skew TEMPLATER_E2E_SKEW=$$by go test -count=1 -v -timeout $(E2E_TIMEOUT) -run '$(SKEW_TESTS)' .) || exit 1; \
	done

.PHONY: test-bench
test-bench: cluster-build ## Run the benchmark with few parents, and count the operator's requests
	$(call say,'The benchmark$(comma) small: does it work$(comma) without unnecessary requests')
	cd e2e && go run ./bench $(BENCH_SMALL)

.PHONY: lint
lint: $(LINT) ## Run golangci-lint over all modules
	@failed=0; for module in $(MODULES); do \
		printf '\n== golangci-lint in %s\n' "$$module"; \
		(cd $$module && nice $(CURDIR)/$(LINT) run $(LINT_FLAGS) --config $(CURDIR)/.golangci.yml ./...) || failed=1; \
	done; exit $$failed

.PHONY: wasm
wasm: ## Build the offline packages for WebAssembly
	$(call say,'WebAssembly: the offline packages')
	GOOS=js GOARCH=wasm go build $(OFFLINE)

.PHONY: picture
picture: ## Record make demo with asciinema, and convert it for the README with svg-term-cli (npm): docs/demo.svg
	env -u MAKELEVEL -u MAKEFLAGS asciinema rec --overwrite --idle-time-limit 3 --cols 112 --rows 30 --title 'make demo' --command 'make demo' docs/demo.cast
	npx --yes svg-term-cli@2.1.1 --in docs/demo.cast --out docs/demo.svg --window

.PHONY: site
site: ## Build a static site of docs in .cache/site, and check its links (compiles Hugo once, for minutes)
	$(call say,'The site')
	cd tools/site && go run . --output $(CURDIR)/.cache/site $(if $(wildcard $(PLAYGROUND)/index.html),--playground $(abspath $(PLAYGROUND)))

.PHONY: test-pages
test-pages: playground site ## Build the site and the playground, and open a page of each in headless Chromium, if installed
	$(call say,'The site and the playground in a browser')
	cd tools/site && go vet ./... && go test ./pages && go test -count=1 -run '^(TestSearch|TestPlaygroundFromStaticFiles)$$' ./browser

.PHONY: test-playground
test-playground: playground build ## Test the playground in headless Chromium: needs Chromium and npm
	@mkdir -p .cache/axe && cp tools/site/browser/package*.json .cache/axe && cd .cache/axe && npm ci --no-audit --no-fund
	cd tools/site && CI=true go test -count=1 -v -run '^TestPlayground' ./browser

.PHONY: test-site
test-site: site ## Test the site in headless Chromium: needs Chromium and npm
	@mkdir -p .cache/axe && cp tools/site/browser/package*.json .cache/axe
	cd .cache/axe && npm ci --no-audit --no-fund
	cd tools/site && go mod tidy -diff && go vet ./... && go test -count=1 ./pages && CI=true go test -count=1 -skip '^TestPlayground' ./browser

.PHONY: generate
generate: $(GEN) ## Write the CRD, the deepcopy functions, the schema for editors and docs/reference/api.md from api/, the pages of commands and findings, and the schemas of the built-in kinds
	$(GEN) object crd:generateEmbeddedObjectMeta=false paths=./api/... output:crd:dir=config/crd
	go -C tools/gen tool crd-ref-docs --config apidoc/config.yaml --log-level ERROR --renderer markdown --source-path ../../api/v1 --templates-dir apidoc/templates --output-path ../../docs/reference/api.md
	go run ./tools/editorschema
	go test ./cmd/templater -run '^TestCommandPagesAreCurrent$$' -update
	go test ./internal/lint -run '^TestFindingsPageIsCurrent$$' -update
	go run ./tools/builtins

.PHONY: verify
verify: generate ## Fail when generated files, go.mod or go.sum are stale, or the tree is dirty
	$(call say,'go mod tidy in every module')
	@set -e; for module in $(ALL_MODULES); do echo "$$module"; (cd $$module && go mod tidy); done
	$(call say,'Is the tree clean?')
	@changes=$$(git status --porcelain); \
	if [ -n "$$changes" ]; then \
		git --no-pager diff --stat; echo "$$changes"; \
		echo; \
		echo "The files above differ from the last commit. Either generated files were stale:"; \
		echo "commit what 'make verify' just wrote. Or you have changes of your own: commit them first."; \
		exit 1; \
	fi; \
	echo "Clean: generated files are current."

.PHONY: demo
demo: ## Start a cluster, run the operator, apply the samples, show what happens; on an existing cluster: make demo KUBECONFIG=FILE
	$(call say,'The demo: the first time on a machine it takes ten minutes$(comma) later one. Compiling first')
	@cd e2e && CGO_ENABLED=0 go run -trimpath ./demo # as the cluster is built: Go's own packages are compiled once

.PHONY: demo-down
demo-down: ## Remove the demo from the cluster of KUBECONFIG
	@cd e2e && go run ./demo --down

.PHONY: bench
bench: ## Compare the operator with a bare client on a cluster; for BENCH_FLAGS see go run ./bench --help
	cd e2e && go run ./bench $(BENCH_FLAGS)

.PHONY: bench-micro
bench-micro: ## Run the benchmarks that do not need a cluster, BENCH_COUNT (6) times each
	go test -run '^$$' -bench . -benchmem -count $(BENCH_COUNT) ./...

.PHONY: bench-compare
bench-compare: ## Compare two outputs of bench-micro, OLD and NEW, with benchstat
	@go tool -modfile=tools/benchstat/go.mod benchstat $(OLD) $(NEW)

.PHONY: chaos
chaos: ## Inject faults for an hour, with longer ones; for CHAOS_FLAGS see go run ./chaos --help
	cd e2e && go run ./chaos $(CHAOS_FLAGS)

.PHONY: cluster-build
cluster-build: ## Build the components of the test clusters (minutes, once)
ifndef CLUSTER_BUILT # set by the calling make
	$(call say,'Building the test clusters: minutes the first time$(comma) seconds later')
	cd e2e && go run ./cluster build && go run ./cluster build --mode kwok
endif

.PHONY: cluster-up
cluster-up: ## Start the test cluster
	cd e2e && go run ./cluster up

.PHONY: cluster-down
cluster-down: ## Stop the test cluster
	cd e2e && go run ./cluster down

comma := ,

$(GEN):
	$(call say,'Building controller-gen')
	go build -C tools/gen -o $(CURDIR)/$(GEN) sigs.k8s.io/controller-tools/cmd/controller-gen

# The name contains a checksum of go.sum, so only a change of it (or another Go
# version) triggers a rebuild, regardless of file times.
$(LINT):
	$(call say,'Building golangci-lint: a few minutes$(comma) once until tools/lint/go.sum changes')
	nice go build -C tools/lint -o $(CURDIR)/$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
