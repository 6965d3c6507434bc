//! Compares the compiled contract with what existing programs rely on.
#![cfg(test)]

mod additions;
mod baseline;
mod descriptors;
mod frozen;
mod secrets;
mod table_controller;
mod table_scoring;
mod wire;
