//! `vmafx-operator`.

fn main() {}
