//! Motion, measured apart from the rest.

use crate::engine::features::{Need, Output};
use crate::engine::ffi::{Config, Context, Failure, SharedPicture};

/// The values of one motion feature, frame by frame.
pub(super) struct Series {
    pub(super) output: Output,
    pub(super) values: Vec<f64>,
}

/// A context that sees every frame of the reference and measures motion only.
pub(super) struct Motion {
    context: Context,
    needs: Vec<Need>,
    fed: u32,
    flushed: bool,
}

impl Motion {
    pub(super) fn new(needs: &[&Need], config: Config) -> Result<Self, Failure> {
        let context = context(needs.iter().copied(), config)?;
        Ok(Self {
            context,
            needs: needs.iter().map(|need| (*need).clone()).collect(),
            fed: 0,
            flushed: false,
        })
    }

    /// Frames it has seen.
    pub(super) fn fed(&self) -> u32 {
        self.fed
    }

    pub(super) fn read(&mut self, picture: &SharedPicture) -> Result<(), Failure> {
        self.context.read(picture.clone(), picture.clone(), self.fed)?;
        self.fed += 1;
        Ok(())
    }

    /// Motion of the first `length` frames, as if the clip ended there.
    pub(super) fn values(&mut self, length: u32) -> Result<Vec<Series>, Failure> {
        if length == 0 {
            return Ok(Vec::new());
        }
        if !self.flushed {
            self.context.flush()?;
            self.flushed = true;
        }
        if length == self.fed {
            return read_out(&self.context, &self.needs, length);
        }
        // libvmaf derives motion at the end, from sums of differences between neighbours. Those do not depend on where
        // the clip ends, so they are handed to a fresh context that ends earlier. It has a thread because only then
        // libvmaf finishes an extractor that has seen no picture.
        let mut shorter = context(self.needs.iter(), Config { threads: 1, cpu_mask: 0 })?;
        for name in self.needs.iter().filter_map(Need::motion_sad) {
            for index in 0..length {
                shorter.import(&name, self.context.feature(&name, index)?, index)?;
            }
        }
        shorter.flush()?;
        read_out(&shorter, &self.needs, length)
    }
}

fn context<'a>(needs: impl Iterator<Item = &'a Need>, config: Config) -> Result<Context, Failure> {
    let mut context = Context::new(config)?;
    for need in needs {
        context.use_feature(need.extractor(), &need.options())?;
        if let Some(name) = need.motion_sad() {
            context.expect_import(&name)?;
        }
    }
    Ok(context)
}

fn read_out(context: &Context, needs: &[Need], length: u32) -> Result<Vec<Series>, Failure> {
    needs
        .iter()
        .flat_map(Need::outputs)
        .map(|output| {
            let values =
                (0..length).map(|index| context.feature(&output.kept, index)).collect::<Result<_, _>>()?;
            Ok(Series { output, values })
        })
        .collect()
}
