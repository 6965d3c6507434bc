//! The sizes of a plane's intermediate results.

/// Rows and columns of a block.
pub(super) const BLOCK: usize = 5;
/// Samples of a block, which are the variables of the covariance matrix.
pub(super) const VARIABLES: usize = BLOCK * BLOCK;
/// Filtered planes keep one of this many rows and columns.
pub(super) const DECIMATION: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimensions {
    /// Of the plane.
    pub(super) width: usize,
    pub(super) height: usize,
    /// After scaling.
    pub(super) scaled_width: usize,
    pub(super) scaled_height: usize,
    /// After decimation.
    pub(super) small_width: usize,
    pub(super) small_height: usize,
    pub(super) blocks_across: usize,
    pub(super) blocks_down: usize,
}

impl Dimensions {
    /// `None` if there is not a single block.
    pub(super) fn new(width: usize, height: usize, scale: f64) -> Option<Self> {
        let (scaled_width, scaled_height) = (scaled(width, scale), scaled(height, scale));
        let (small_width, small_height) = (scaled_width / DECIMATION, scaled_height / DECIMATION);
        let (blocks_across, blocks_down) = (small_width / BLOCK, small_height / BLOCK);
        (blocks_across > 0 && blocks_down > 0).then_some(Self {
            width,
            height,
            scaled_width,
            scaled_height,
            small_width,
            small_height,
            blocks_across,
            blocks_down,
        })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks_across * self.blocks_down
    }

    /// Columns of the windows whose covariances are computed: one per place of the plane in a block.
    pub(super) fn window_width(&self) -> usize {
        (self.blocks_across - 1) * BLOCK + 1
    }

    pub(super) fn window_height(&self) -> usize {
        (self.blocks_down - 1) * BLOCK + 1
    }

    pub(super) fn is_scaled(&self) -> bool {
        (self.width, self.height) != (self.scaled_width, self.scaled_height)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // As in libvmaf.
fn scaled(size: usize, scale: f64) -> usize {
    (size as f64 * scale + 0.5) as usize
}
