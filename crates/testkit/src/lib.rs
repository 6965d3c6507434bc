//! Real servers for tests, and the fixtures that go with them.

mod hex;
pub mod http_server;
pub mod kube;
pub mod markdown;
pub mod postgres;
pub mod rclone;
pub mod registry;
pub mod s3;
pub mod script;
pub mod shell;
pub mod wait;
