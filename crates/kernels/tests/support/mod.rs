//! Pictures for tests, and libvmaf's scores of them.

#![allow(dead_code)] // Each test binary uses a part.

pub(crate) mod libvmaf;
pub(crate) mod picture;
