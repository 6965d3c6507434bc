//! The cost of libvmaf alone: frames from memory, the features that the model registers, the mean. `make bench` compares the
//! engine with it.
//!
//! Usage: `bare_loop REF DIS WIDTH HEIGHT`, both raw 8 bit 4:2:0. Prints the CPU seconds of the loop and the mean score.

#![allow(unsafe_code, reason = "this program measures the C API without the wrapper")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "a sequence of calls, each checked")]

use std::error::Error;
use std::ptr::null_mut;

use rustix::time::{ClockId, clock_gettime};
use vmaf_head_sys as vmaf;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [reference, distorted, width, height] = arguments.as_slice() else {
        return Err("usage: bare_loop REF DIS WIDTH HEIGHT".into());
    };
    let (width, height) = (width.parse()?, height.parse()?);
    let (reference, distorted) = (std::fs::read(reference)?, std::fs::read(distorted)?);
    let started = cpu_seconds();
    let score = score(&reference, &distorted, width, height)?;
    println!("{} {score}", cpu_seconds() - started);
    Ok(())
}

fn score(reference: &[u8], distorted: &[u8], width: u32, height: u32) -> Result<f64, Box<dyn Error>> {
    let frame = (width * height * 3 / 2) as usize;
    let frames = u32::try_from(reference.len() / frame)?;
    let settings =
        vmaf::VmafConfiguration { log_level: 0, n_threads: 0, n_subsample: 1, cpumask: 0, gpumask: 0 };
    let mut pooled = 0.0;
    unsafe {
        let (mut context, mut model) = (null_mut(), null_mut());
        check(vmaf::vmaf_init(&raw mut context, settings))?;
        let mut config = vmaf::VmafModelConfig { name: c"vmaf".as_ptr(), flags: 0 };
        check(vmaf::vmaf_model_load(&raw mut model, &raw mut config, c"vmaf_v0.6.1".as_ptr()))?;
        check(vmaf::vmaf_use_features_from_model(context, model))?;
        for index in 0..frames {
            let at = index as usize * frame;
            let mut pair =
                [picture(&reference[at..], width, height)?, picture(&distorted[at..], width, height)?];
            let [first, second] = &mut pair;
            check(vmaf::vmaf_read_pictures(context, first, second, index))?;
        }
        check(vmaf::vmaf_read_pictures(context, null_mut(), null_mut(), 0))?;
        let mean = vmaf::VmafPoolingMethod_VMAF_POOL_METHOD_MEAN;
        check(vmaf::vmaf_score_pooled(context, model, mean, &raw mut pooled, 0, frames - 1))?;
        vmaf::vmaf_model_destroy(model);
        check(vmaf::vmaf_close(context))?;
    }
    Ok(pooled)
}

/// A picture of libvmaf, filled from planes without padding.
unsafe fn picture(mut data: &[u8], width: u32, height: u32) -> Result<vmaf::VmafPicture, Box<dyn Error>> {
    unsafe {
        let mut picture = std::mem::zeroed::<vmaf::VmafPicture>();
        let format = vmaf::VmafPixelFormat_VMAF_PIX_FMT_YUV420P;
        check(vmaf::vmaf_picture_alloc(&raw mut picture, format, 8, width, height))?;
        for plane in 0..3 {
            let bytes = picture.w[plane] as usize;
            for row in 0..isize::try_from(picture.h[plane])? {
                let target = picture.data[plane].cast::<u8>().offset(row * picture.stride[plane]);
                target.copy_from_nonoverlapping(data.as_ptr(), bytes);
                data = &data[bytes..];
            }
        }
        Ok(picture)
    }
}

fn check(code: i32) -> Result<(), Box<dyn Error>> {
    if code == 0 { Ok(()) } else { Err(format!("libvmaf returned {code}").into()) }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a process does not run for 2^53 seconds")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    seconds
}
