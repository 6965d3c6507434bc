//! The JSON of the models that are compiled into libvmaf.
//!
//! The C API loads them by name but does not expose them; their bytes are needed for digests and for the list of features.

use std::ffi::{c_char, c_int};
use std::slice;

pub(in crate::engine) struct BuiltIn {
    /// As `vmaf_model_load` accepts it.
    pub(in crate::engine) name: &'static str,
    pub(in crate::engine) json: fn() -> &'static [u8],
}

/// Declares the two symbols of each model, and the table of their names and contents.
macro_rules! built_in {
    ($($name:literal: $json:ident, $length:ident;)*) => {
        unsafe extern "C" {
            $(
                static $json: [c_char; 0];
                static $length: c_int;
            )*
        }

        /// Every model of a libvmaf without floating-point features.
        pub(in crate::engine) static BUILT_IN: &[BuiltIn] = &[
            $(BuiltIn {
                name: $name,
                json: || {
                    // SAFETY: libvmaf defines both, and the second is the number of bytes of the first. Neither is ever
                    // written.
                    unsafe { bytes((&raw const $json).cast(), $length) }
                },
            },)*
        ];
    };
}

built_in! {
    "vmaf_v0.6.1": src_vmaf_v0_6_1_json, src_vmaf_v0_6_1_json_len;
    "vmaf_v0.6.1neg": src_vmaf_v0_6_1neg_json, src_vmaf_v0_6_1neg_json_len;
    "vmaf_4k_v0.6.1": src_vmaf_4k_v0_6_1_json, src_vmaf_4k_v0_6_1_json_len;
    "vmaf_4k_v0.6.1neg": src_vmaf_4k_v0_6_1neg_json, src_vmaf_4k_v0_6_1neg_json_len;
    "vmaf_b_v0.6.3": src_vmaf_b_v0_6_3_json, src_vmaf_b_v0_6_3_json_len;
    "vmaf_v1.0.16_3d0h": src_vmaf_v1_0_16_3d0h_json, src_vmaf_v1_0_16_3d0h_json_len;
    "vmaf_v1.0.16_5d0h": src_vmaf_v1_0_16_5d0h_json, src_vmaf_v1_0_16_5d0h_json_len;
    "vmaf_v1.0.16_1d5h_2160": src_vmaf_v1_0_16_1d5h_2160_json, src_vmaf_v1_0_16_1d5h_2160_json_len;
    "vmaf_v1.0.16_3d0h_2160": src_vmaf_v1_0_16_3d0h_2160_json, src_vmaf_v1_0_16_3d0h_2160_json_len;
    "vmaf_v1.0.16_hfr_3d0h": src_vmaf_v1_0_16_hfr_3d0h_json, src_vmaf_v1_0_16_hfr_3d0h_json_len;
    "vmaf_v1.0.16_hfr_5d0h": src_vmaf_v1_0_16_hfr_5d0h_json, src_vmaf_v1_0_16_hfr_5d0h_json_len;
    "vmaf_v1.0.16_hfr_1d5h_2160": src_vmaf_v1_0_16_hfr_1d5h_2160_json, src_vmaf_v1_0_16_hfr_1d5h_2160_json_len;
    "vmaf_v1.0.16_hfr_3d0h_2160": src_vmaf_v1_0_16_hfr_3d0h_2160_json, src_vmaf_v1_0_16_hfr_3d0h_2160_json_len;
}

/// # Safety
/// `data` points to `length` bytes that are static and never written.
unsafe fn bytes(data: *const u8, length: c_int) -> &'static [u8] {
    // SAFETY: guaranteed by the caller.
    unsafe { slice::from_raw_parts(data, usize::try_from(length).unwrap_or(0)) }
}
