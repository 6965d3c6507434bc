//! Real servers for tests, and the fixtures that go with them.

pub mod kube;
pub mod postgres;
pub mod wait;
