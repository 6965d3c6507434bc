//! The cost of libvmaf alone: its C API, the features that the model registers, the mean. `make bench` compares the engine with
//! it.
//!
//! Usage: `bare_loop REF DIS size=WxH [depth=BITS] [model=NAME] [cpumask=BITS] [ffmpeg=PROGRAM]`
//!
//! The clips are raw 4:2:0. With `ffmpeg=`, that program decodes them into pipes. One thread measures, and one pair of frames is
//! in memory. Prints the CPU seconds of this process without the time in which it reads the clips, and the mean score.
//! `cpumask` has the CPU features that libvmaf must not use; 48 leaves it AVX2.

#![allow(unsafe_code, reason = "this program measures the C API without the wrapper")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "a sequence of calls, each checked")]

use std::error::Error;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::ptr::null_mut;

use vmaf_head_sys as vmaf;

unsafe extern "C" {
    /// The C library's function, because rustix's fails under valgrind, which hides the kernel's shared code.
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Arguments {
    clips: Vec<String>,
    width: u32,
    height: u32,
    depth: u32,
    model: CString,
    cpu_mask: u64,
    ffmpeg: Option<String>,
}

impl Arguments {
    fn parse(texts: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self {
            clips: Vec::new(),
            width: 0,
            height: 0,
            depth: 8,
            model: c"vmaf_v0.6.1".to_owned(),
            cpu_mask: 0,
            ffmpeg: None,
        };
        for text in texts {
            match text.split_once('=') {
                Some(("size", size)) => {
                    let (width, height) = size.split_once('x').ok_or("size must be WxH")?;
                    (arguments.width, arguments.height) = (width.parse()?, height.parse()?);
                }
                Some(("depth", depth)) => arguments.depth = depth.parse()?,
                Some(("model", model)) => arguments.model = CString::new(model)?,
                Some(("cpumask", mask)) => arguments.cpu_mask = mask.parse()?,
                Some(("ffmpeg", program)) => arguments.ffmpeg = Some(program.to_owned()),
                _ => arguments.clips.push(text),
            }
        }
        if arguments.clips.len() != 2 || arguments.width == 0 || arguments.height == 0 {
            return Err(
                "usage: bare_loop REF DIS size=WxH [depth=BITS] [model=NAME] [cpumask=BITS] [ffmpeg=PROGRAM]"
                    .into(),
            );
        }
        Ok(arguments)
    }

    fn frame_bytes(&self) -> usize {
        let bytes = if self.depth > 8 { 2 } else { 1 };
        (self.width * self.height * 3 / 2) as usize * bytes
    }
}

/// The frames of a clip, from a file or from a decoder.
struct Frames {
    stream: Box<dyn Read>,
    decoder: Option<Child>,
}

impl Frames {
    fn open(clip: &str, arguments: &Arguments) -> Result<Self> {
        let Some(ffmpeg) = &arguments.ffmpeg else {
            return Ok(Self { stream: Box::new(File::open(clip)?), decoder: None });
        };
        let format = if arguments.depth > 8 { "yuv420p10le" } else { "yuv420p" };
        // A decoder with one thread costs the least CPU time.
        let mut decoder = Command::new(ffmpeg)
            .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"])
            .args(["-i", clip, "-fps_mode", "passthrough", "-pix_fmt", format, "-f", "rawvideo", "-"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stream = decoder.stdout.take().ok_or("the decoder has no output")?;
        Ok(Self { stream: Box::new(stream), decoder: Some(decoder) })
    }

    /// Fills `frame`. `false` at the end of the clip.
    fn next(&mut self, frame: &mut Vec<u8>, bytes: usize) -> Result<bool> {
        frame.clear();
        (&mut self.stream).take(bytes as u64).read_to_end(frame)?;
        if frame.is_empty() || frame.len() == bytes {
            return Ok(!frame.is_empty());
        }
        Err("a clip ends within a frame".into())
    }

    fn close(self) -> Result<()> {
        drop(self.stream);
        match self.decoder.map(|mut decoder| decoder.wait()).transpose()? {
            Some(status) if !status.success() => Err(format!("the decoder failed: {status}").into()),
            _ => Ok(()),
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (seconds, score) = score(&arguments)?;
    println!("{seconds} {score}");
    Ok(())
}

/// The CPU seconds of libvmaf, and the mean score.
fn score(arguments: &Arguments) -> Result<(f64, f64)> {
    let mut clips =
        [Frames::open(&arguments.clips[0], arguments)?, Frames::open(&arguments.clips[1], arguments)?];
    let bytes = arguments.frame_bytes();
    let mut data = [Vec::with_capacity(bytes), Vec::with_capacity(bytes)];
    let settings = vmaf::VmafConfiguration {
        log_level: 0,
        n_threads: 0,
        n_subsample: 1,
        cpumask: arguments.cpu_mask,
        gpumask: 0,
    };
    let (mut pooled, mut frames) = (0.0, 0);
    let mut seconds = -cpu_seconds();
    unsafe {
        let (mut context, mut model) = (null_mut(), null_mut());
        check(vmaf::vmaf_init(&raw mut context, settings))?;
        let mut config = vmaf::VmafModelConfig { name: c"vmaf".as_ptr(), flags: 0 };
        check(vmaf::vmaf_model_load(&raw mut model, &raw mut config, arguments.model.as_ptr()))?;
        check(vmaf::vmaf_use_features_from_model(context, model))?;
        loop {
            seconds += cpu_seconds();
            let [reference, distorted] = &mut clips;
            let both = [reference.next(&mut data[0], bytes)?, distorted.next(&mut data[1], bytes)?];
            seconds -= cpu_seconds();
            match both {
                [true, true] => (),
                [false, false] => break,
                _ => return Err("the clips have different lengths".into()),
            }
            let mut pair = [picture(&data[0], arguments)?, picture(&data[1], arguments)?];
            let [first, second] = &mut pair;
            check(vmaf::vmaf_read_pictures(context, first, second, frames))?;
            frames += 1;
        }
        check(vmaf::vmaf_read_pictures(context, null_mut(), null_mut(), 0))?;
        let mean = vmaf::VmafPoolingMethod_VMAF_POOL_METHOD_MEAN;
        check(vmaf::vmaf_score_pooled(context, model, mean, &raw mut pooled, 0, frames - 1))?;
        vmaf::vmaf_model_destroy(model);
        check(vmaf::vmaf_close(context))?;
    }
    seconds += cpu_seconds();
    clips.into_iter().try_for_each(Frames::close)?;
    Ok((seconds, pooled))
}

/// A picture of libvmaf, filled from planes without padding.
unsafe fn picture(mut data: &[u8], arguments: &Arguments) -> Result<vmaf::VmafPicture> {
    let Arguments { width, height, depth, .. } = *arguments;
    unsafe {
        let mut picture = std::mem::zeroed::<vmaf::VmafPicture>();
        let format = vmaf::VmafPixelFormat_VMAF_PIX_FMT_YUV420P;
        check(vmaf::vmaf_picture_alloc(&raw mut picture, format, depth, width, height))?;
        for plane in 0..3 {
            let bytes = picture.w[plane] as usize * if depth > 8 { 2 } else { 1 };
            for row in 0..isize::try_from(picture.h[plane])? {
                let target = picture.data[plane].cast::<u8>().offset(row * picture.stride[plane]);
                target.copy_from_nonoverlapping(data.as_ptr(), bytes);
                data = &data[bytes..];
            }
        }
        Ok(picture)
    }
}

fn check(code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(format!("libvmaf returned {code}").into()) }
}

/// Of this process.
fn cpu_seconds() -> f64 {
    const PROCESS_CPU_TIME: i32 = 2;
    let mut time = [0; 2];
    // On 64-bit systems a time is two 64-bit numbers. The call cannot fail.
    unsafe { clock_gettime(PROCESS_CPU_TIME, &raw mut time) };
    #[expect(clippy::cast_precision_loss, reason = "a process does not run for 2^53 seconds")]
    let [seconds, nanoseconds] = time.map(|number| number as f64);
    seconds + nanoseconds / 1e9
}
