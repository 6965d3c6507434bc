//! The command lines. Pure.

use std::ffi::OsString;
use std::path::Path;

use super::super::pixel_format::Samples;
use super::super::probe::{Probe, Storage};
use super::super::{Clip, Reading};
use crate::picture::Format;

/// The first video stream that is not an attached picture.
const VIDEO: [&str; 2] = ["-map", "0:V:0"];

/// Asks what the file on standard input is. No frame is decoded. Without its name, `ffmpeg` goes by the content alone and
/// not by the extension.
pub(super) fn probe() -> Vec<OsString> {
    let mut arguments = strings(&["-hide_banner", "-nostdin"]);
    arguments.extend(input(Path::new(STDIN)));
    arguments.extend(strings(&VIDEO));
    arguments.extend(strings(&["-frames:v", "0", "-f", "null", "-"]));
    arguments
}

/// Decodes a clip to Y4M on standard output, in `delivered`'s shape.
pub(super) fn decode(clip: &Clip, probe: &Probe, reading: &Reading, delivered: Format) -> Vec<OsString> {
    let mut arguments = strings(&["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+warning"]);
    // A decoder hides damage by making up pictures, and a score of those would be a wrong number that looks right. So the
    // first error ends everything, and checksums are looked at where a codec has them. Not `explode`: it also refuses
    // streams that are merely careless and decode without any loss.
    arguments.extend(strings(&["-xerror", "-err_detect", "crccheck"]));
    if let Some(threads) = reading.decoder_threads {
        let threads = threads.to_string();
        arguments.extend(strings(&["-filter_threads", &threads, "-threads", &threads]));
    }
    let samples = match probe.storage {
        Storage::Raw => {
            let name = probe.format.sample_format().to_string();
            let size = format!("{}x{}", probe.format.width, probe.format.height);
            arguments.extend(strings(&["-f", "rawvideo", "-pixel_format", &name, "-video_size", &size]));
            Samples::Yuv
        }
        Storage::Y4m { .. } => {
            arguments.extend(strings(&["-f", "yuv4mpegpipe"]));
            Samples::Yuv
        }
        Storage::Coded { samples, ref demuxer, .. } => {
            // What was recognised is what is read, whatever the name says. One demuxer may have several names.
            if let Some(name) = demuxer.split(',').next().filter(|name| !name.is_empty()) {
                arguments.extend(strings(&["-f", name]));
            }
            samples
        }
    };
    arguments.extend(input(&clip.path));
    let name = delivered.sample_format().to_string();
    arguments.extend(strings(&VIDEO));
    arguments.extend(strings(&["-an", "-sn", "-dn", "-vf", &filter(reading, delivered, samples)]));
    // One frame out for each frame in: pairing is by index, so nothing may be doubled or dropped to fit a clock.
    arguments.extend(strings(&["-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-pix_fmt", &name]));
    if let Some(take) = reading.take {
        let frames = reading.skip.saturating_add(take).min(i64::MAX.cast_unsigned());
        arguments.extend(strings(&["-frames:v", &frames.to_string()]));
    }
    arguments.extend(strings(&["-strict", "-1", "-f", "yuv4mpegpipe", "pipe:1"]));
    arguments
}

/// The filters.
///
/// `scale` passes a picture on untouched when there is nothing to do. The range is said to be the same before and after,
/// whatever the file claims, since otherwise some versions squeeze full range into limited range on the way. RGB has no
/// such choice; it becomes limited range as in nearly every encode of it.
///
/// `setpts` numbers the frames, because the writer refuses two frames with the same time, which clips with a variable
/// frame rate have after rounding. When the shape of the pictures changes the filters are built anew and the numbers
/// start again: the writer refuses that too, which is how such a clip becomes an error.
fn filter(reading: &Reading, delivered: Format, samples: Samples) -> String {
    let range = match samples {
        Samples::Yuv => "in_range=full:out_range=full",
        Samples::Rgb => "out_range=limited",
    };
    format!(
        "scale={}:{}:flags={}:{range},format={},settb=1/1000,setpts=N",
        delivered.width,
        delivered.height,
        reading.scale_filter.name(),
        delivered.sample_format()
    )
}

/// Under this name the kernel opens the file on standard input anew, so that it can be searched like any other.
pub(super) const STDIN: &str = "/dev/stdin";

/// The input. With `file:` a name may contain anything, also a leading `-` or a `:`; the list of protocols keeps a file
/// that names others from reaching into the network.
fn input(path: &Path) -> [OsString; 4] {
    let mut name = OsString::from("file:");
    name.push(path);
    ["-protocol_whitelist".into(), "file".into(), "-i".into(), name]
}

fn strings(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("-i.mp4", "file:-i.mp4")]
    #[case("http://host/a.mp4", "file:http://host/a.mp4")]
    #[case("concat:a|b", "file:concat:a|b")]
    #[case("-", "file:-")]
    fn a_name_is_never_taken_for_an_option_or_an_address(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(input(Path::new(path)), ["-protocol_whitelist", "file", "-i", expected]);
    }
}
