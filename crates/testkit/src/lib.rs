//! Real servers for tests, and the fixtures that go with them.

pub mod clips;
pub mod command;
pub mod controller;
mod hex;
pub mod http_client;
pub mod http_gateway;
pub mod http_server;
pub mod kube;
pub mod markdown;
pub mod old_kernel;
pub mod ports;
pub mod postgres;
pub mod prerequisite;
pub mod rclone;
pub mod registry;
pub mod s3;
pub mod script;
pub mod seed;
pub mod shell;
pub mod small_volume;
pub mod tcp_proxy;
pub mod wait;
