# The conventional front; the work itself is in xtask (Rust) and scripts/.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

XTASK := cargo run --quiet --locked --bin xtask --
DENY_VERSION := 0.20.2
CACHE := $(or $(VMAFX_CACHE_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vmafx)
DENY := $(CACHE)/tools/cargo-deny-$(DENY_VERSION)/bin/cargo-deny

.PHONY: help setup run test lint manifests bench e2e images cluster cluster-down kube-up kube-down

help: ## List what can be done
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install the system packages that are missing; say which where it may not
	@scripts/setup

run: setup ## Bring the project up on this machine and show it at work (KEEP=1 stays up, KEEP=0 does not)
	@$(XTASK) run $(if $(KEEP),--keep=$(KEEP))

test: setup ## Run every test against a real Kubernetes control plane
	@$(XTASK) test

lint: $(DENY) ## Formatting, clippy, stale generated files, API evolution, the Containerfile, licences and sources
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(XTASK) manifests --check
	scripts/check-containerfile
	$(DENY) --locked check --hide-inclusion-graph bans licenses sources

manifests: ## Write the CRDs, the chart's copies and the API reference from the types
	@$(XTASK) manifests

bench: setup ## Measure (ONLY=part for one part); fails when a figure is short of its bar
	@$(XTASK) bench $(if $(ONLY),--only $(ONLY))

e2e: setup ## Do what users do, on a whole Kubernetes node with the images and the chart (ONLY=scenario for one)
	@$(XTASK) e2e $(if $(ONLY),--only $(ONLY))

images: setup ## Make container images of the daemons in target/images (PROFILE=dev is quick, PUSH=registry/prefix pushes)
	@$(XTASK) images $(if $(PROFILE),--profile $(PROFILE)) $(if $(PUSH),--push $(PUSH))

cluster: setup ## Start a whole Kubernetes node with the images and the chart, and score a clip on it
	@$(XTASK) cluster

cluster-down: kube-down ## End it and leave nothing behind

kube-up: setup ## Start a whole Kubernetes node in the background
	@$(XTASK) kube up

kube-down: ## Stop it and leave nothing behind
	@$(XTASK) kube down

$(DENY):
	@echo "building cargo-deny $(DENY_VERSION), once"
	@cargo install --quiet --locked cargo-deny@$(DENY_VERSION) --root $(CACHE)/tools/cargo-deny-$(DENY_VERSION)
