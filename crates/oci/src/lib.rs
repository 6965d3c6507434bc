//! Models as artifacts of OCI registries.
