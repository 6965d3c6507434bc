//! The options that describe headerless clips.

use clap::Args;
use vmafx_job::{FrameSize, RawVideo, SampleFormat};

/// Describes headerless clips. A clip with a header is read according to its header.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Inputs")]
pub struct RawVideoArgs {
    /// Frame size of raw video files
    #[arg(long, value_name = "WxH", requires = "pixel_format")]
    pub size: Option<FrameSize>,

    /// Pixel format of raw video files: yuv420p, yuv422p or yuv444p; append 10le, 12le or 16le for more than 8 bits
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
