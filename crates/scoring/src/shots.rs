//! Shots: the parts of a clip between hard cuts.
//!
//! Cuts are found in the luma of the reference while it is read for the scores. Each frame is reduced to the means of 32 by 18
//! cells (`cells`), and these are compared with those of the four frames before (`difference`). What is kept of a frame is
//! five numbers. The cuts are decided when all frames were read (`cuts`): a frame begins a shot if
//!
//! | condition                                                                     | so that these are not cuts              |
//! |-------------------------------------------------------------------------------|-----------------------------------------|
//! | its cells differ enough from those of the frame before                        | noise, small movements, black frames    |
//! | the difference is a peak among the four frames before and the four after      | pans, zooms, fades, dissolves           |
//! | the cells do not correlate with those of the frame before                     | changes of light, explosions            |
//! | no frame before it resembles a frame after it                                 | flashes and dropouts of up to 3 frames  |
//! | the last cut is four frames away                                              | both ends of a blended or flashing cut  |
//!
//! A fade or dissolve is not a cut, so that a shot goes on through it.
//!
//! The numbers of a frame depend on that frame and the four before it, which are within the frames that a chunk reads before
//! its own ([`LEAD`](crate::score::chunk::LEAD)). So the numbers of chunks, one after the other, are those of one pass, and
//! so are the cuts (`tests/scoring/shots.rs`). They depend neither on threads nor on the frame step, because every frame of the
//! reference is read. Samples are reduced to eight bits, so they do not depend on the bit depth of the comparison either. They
//! may depend on the size to which a comparison scales the reference.

mod cells;
mod cuts;
mod difference;

use serde::Serialize;

pub(crate) use cells::CellMeans;
pub(crate) use cuts::shots;
pub(crate) use difference::{DifferenceMeter, FrameDifference};

/// Frames between two hard cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shot {
    /// The number of the pair that the shot begins with, counted from the first pair.
    pub first_frame: u64,
    pub frames: u64,
}

impl Shot {
    /// The first frame after the shot.
    pub const fn end(self) -> u64 {
        self.first_frame + self.frames
    }

    pub const fn contains(self, frame: u64) -> bool {
        self.first_frame <= frame && frame < self.end()
    }
}
