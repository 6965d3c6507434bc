//! The options that describe headerless clips.

use clap::Args;
use vmafx_job::{FrameSize, RawVideo, SampleFormat};

/// Describes clips without a header; a clip that has one is read by its header.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Inputs")]
pub struct RawVideoArgs {
    /// Frame size of raw files, which have no header
    #[arg(long, value_name = "WxH", requires = "pixel_format")]
    pub size: Option<FrameSize>,

    /// Samples in raw files: yuv420p, yuv422p or yuv444p, with 10le, 12le or 16le behind it for more than 8 bits
    #[arg(long, value_name = "FORMAT", requires = "size")]
    pub pixel_format: Option<SampleFormat>,
}

impl RawVideoArgs {
    pub fn description(self) -> Option<RawVideo> {
        let (size, samples) = self.size.zip(self.pixel_format)?;
        Some(RawVideo {
            width: size.width,
            height: size.height,
            pixel_format: samples.pixel_format,
            bit_depth: samples.bit_depth,
        })
    }
}
