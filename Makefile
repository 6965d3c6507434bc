# The targets are implemented in xtask (Rust) and scripts/.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

XTASK := cargo run --quiet --locked --bin xtask --
DENY_VERSION := 0.20.2
CACHE := $(or $(VMAFX_CACHE_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vmafx)
DENY := $(CACHE)/tools/cargo-deny-$(DENY_VERSION)/bin/cargo-deny

.PHONY: help setup run test lint manifests dashboard dashboard-screenshots bench e2e images cluster cluster-down kube-up kube-down

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install missing system packages, or list them where it cannot install
	@scripts/setup

run: ## Start everything on this machine and score a clip (KEEP=1 stays up, KEEP=0 exits)
	@scripts/setup run
	@scripts/prebuild
	@$(XTASK) run $(if $(KEEP),--keep=$(KEEP))

test: setup ## Run every test against a real Kubernetes control plane (ONLY=name for a long one that it leaves out)
	@$(XTASK) test $(if $(ONLY),--only $(ONLY))

lint: $(DENY) ## Check formatting, clippy, generated files, API evolution, the dashboard, the Containerfile, licences and sources
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(XTASK) manifests --check
	scripts/dashboard check
	scripts/check-containerfile
	$(DENY) --locked check --hide-inclusion-graph bans licenses sources

manifests: ## Generate CRDs, roles, webhooks, the chart's copies and the API reference
	@$(XTASK) manifests

dashboard: ## Build the dashboard into crates/dashboard/assets, which is committed
	@scripts/dashboard

dashboard-screenshots: setup ## Take pictures of every page of the dashboard into target/screenshots, and those of the README
	@cargo test --quiet --package vmafx-controller --test dashboard --locked -- --ignored screenshots

bench: setup ## Run the benchmarks (ONLY=part for one); fails when a figure misses its limit
	@$(XTASK) bench $(if $(ONLY),--only $(ONLY))

e2e: setup ## Run the end-to-end scenarios on a whole node with the images and the chart (ONLY=scenario for one)
	@$(XTASK) e2e $(if $(ONLY),--only $(ONLY))

images: setup ## Build container images into target/images (PROFILE=dev is quick, PUSH=registry/prefix pushes)
	@$(XTASK) images $(if $(PROFILE),--profile $(PROFILE)) $(if $(PUSH),--push $(PUSH))

cluster: setup ## Start a whole node with the images and the chart, and score a clip on it
	@$(XTASK) cluster

cluster-down: kube-down ## Stop it and remove everything it created

kube-up: setup ## Start a whole node without VMAFX in the background
	@$(XTASK) kube up

kube-down: ## Stop it and remove everything it created
	@$(XTASK) kube down

$(DENY):
	@echo "building cargo-deny $(DENY_VERSION), once"
	@cargo install --quiet --locked cargo-deny@$(DENY_VERSION) --root $(CACHE)/tools/cargo-deny-$(DENY_VERSION)
