//! Holds the compiled contract against what other people's programs rely on.
#![cfg(test)]

mod additions;
mod baseline;
mod descriptors;
mod frozen;
mod secrets;
mod table_controller;
mod table_scoring;
mod wire;
