//! The command lines of `ffmpeg`. Pure.

use std::ffi::OsString;
use std::path::Path;

use super::super::pixel_format::ColourModel;
use super::super::probe::{Probe, SampleStorage};
use super::super::{Clip, ReadOptions};
use crate::picture::PictureFormat;

/// The first video stream that is not an attached picture.
const VIDEO: [&str; 2] = ["-map", "0:V:0"];

/// Probes the file on standard input without decoding a frame. `ffmpeg` does not see the name, so it goes by the content and
/// not by the extension.
pub(super) fn probe() -> Vec<OsString> {
    let mut arguments = strings(&["-hide_banner", "-nostdin"]);
    arguments.extend(input(Path::new(STDIN)));
    arguments.extend(strings(&VIDEO));
    arguments.extend(strings(&["-frames:v", "0", "-f", "null", "-"]));
    arguments
}

/// Decodes a clip to Y4M on standard output, in the format `delivered`.
pub(super) fn decode(
    clip: &Clip,
    probe: &Probe,
    options: &ReadOptions,
    delivered: PictureFormat,
) -> Vec<OsString> {
    let mut arguments = strings(&["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+warning"]);
    // Decoders conceal damage by inventing pictures, and the score of those would be wrong without looking wrong. So the first
    // error ends the decoding, and checksums are verified where a codec has them. `explode` would also refuse streams with
    // harmless irregularities that decode without loss.
    arguments.extend(strings(&["-xerror", "-err_detect", "crccheck"]));
    if let Some(threads) = options.decoder_threads {
        let threads = threads.to_string();
        arguments.extend(strings(&["-filter_threads", &threads, "-threads", &threads]));
    }
    let samples = match probe.storage {
        SampleStorage::Raw => {
            let name = probe.format.sample_format().to_string();
            let size = format!("{}x{}", probe.format.width, probe.format.height);
            arguments.extend(strings(&["-f", "rawvideo", "-pixel_format", &name, "-video_size", &size]));
            ColourModel::Yuv
        }
        SampleStorage::Y4m { .. } => {
            arguments.extend(strings(&["-f", "yuv4mpegpipe"]));
            ColourModel::Yuv
        }
        SampleStorage::Coded { samples, ref demuxer, .. } => {
            // The demuxer that recognised the content, so that the name of the file does not count here either. A demuxer
            // may have several names; `-f` takes one.
            if let Some(name) = demuxer.split(',').next().filter(|name| !name.is_empty()) {
                arguments.extend(strings(&["-f", name]));
            }
            samples
        }
    };
    arguments.extend(input(&clip.path));
    let name = delivered.sample_format().to_string();
    arguments.extend(strings(&VIDEO));
    arguments.extend(strings(&["-an", "-sn", "-dn", "-vf", &filter(options, delivered, samples)]));
    // One frame out for each frame in: frames are paired by index, so none may be duplicated or dropped to fit a clock.
    arguments.extend(strings(&["-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-pix_fmt", &name]));
    if let Some(take) = options.take {
        let frames = options.skip.saturating_add(take).min(i64::MAX.cast_unsigned());
        arguments.extend(strings(&["-frames:v", &frames.to_string()]));
    }
    arguments.extend(strings(&["-strict", "-1", "-f", "yuv4mpegpipe", "pipe:1"]));
    arguments
}

/// The filter chain.
///
/// `scale` does not change a picture that has the size already. Both ranges are declared to be full, whatever the file says,
/// because some versions would convert full range to limited range otherwise. RGB becomes limited range, as in nearly every
/// encode of it.
///
/// `setpts` numbers the frames, because the Y4M writer refuses two frames with the same time, which clips with a variable
/// frame rate have after rounding. When the format of the pictures changes within a clip, ffmpeg rebuilds the filters and the
/// numbers start again: the writer refuses that too, so such a clip is an error.
fn filter(options: &ReadOptions, delivered: PictureFormat, samples: ColourModel) -> String {
    let range = match samples {
        ColourModel::Yuv => "in_range=full:out_range=full",
        ColourModel::Rgb => "out_range=limited",
    };
    format!(
        "scale={}:{}:flags={}:{range},format={},settb=1/1000,setpts=N",
        delivered.width,
        delivered.height,
        options.scale_filter.name(),
        delivered.sample_format()
    )
}

/// The kernel opens the file on standard input again under this name, so that ffmpeg can seek in it.
pub(super) const STDIN: &str = "/dev/stdin";

/// The demuxers that may read a clip: containers, elementary streams and pictures that hold their content themselves.
///
/// Everything else is refused, above all what opens the files that a clip names (`hls`, `dash`, `imf`, `concat`, `image2`,
/// `vobsub`, `mlv`), runs a script (`avisynth`, `vapoursynth`, `lavfi`) or renders text. A demuxer that is new in a release
/// of ffmpeg is refused until it is listed.
pub(super) const FORMATS: [&str; 57] = [
    // Containers.
    "mov",
    "matroska",
    "mpegts",
    "mpeg",
    "avi",
    "mxf",
    "flv",
    "asf",
    "gxf",
    "nut",
    "ogg",
    "rm",
    "wtv",
    "dv",
    "lxf",
    "dhav",
    // Elementary streams.
    "ivf",
    "av1",
    "obu",
    "h264",
    "hevc",
    "vvc",
    "evc",
    "apv",
    "mpegvideo",
    "m4v",
    "mjpeg",
    "mjpeg_2000",
    "h261",
    "h263",
    "vc1",
    "vc1test",
    "dirac",
    "cavsvideo",
    "avs2",
    "avs3",
    "dnxhd",
    // Samples.
    "rawvideo",
    "yuv4mpegpipe",
    // Pictures.
    "apng",
    "bmp_pipe",
    "dpx_pipe",
    "exr_pipe",
    "gif",
    "gif_pipe",
    "hdr_pipe",
    "j2k_pipe",
    "jpeg_pipe",
    "jpegls_pipe",
    "jpegxl_pipe",
    "pam_pipe",
    "pgm_pipe",
    "png_pipe",
    "ppm_pipe",
    "qoi_pipe",
    "tiff_pipe",
    "webp_pipe",
];

/// The input. With `file:` a name may contain anything, also a leading `-` or a `:`; the whitelists keep a file that refers
/// to others from reaching the network and from reading those files.
fn input(path: &Path) -> [OsString; 6] {
    let mut name = OsString::from("file:");
    name.push(path);
    let formats = FORMATS.join(",");
    [
        "-protocol_whitelist".into(),
        "file".into(),
        "-format_whitelist".into(),
        formats.into(),
        "-i".into(),
        name,
    ]
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
        let [.., option, name] = input(Path::new(path));
        assert_eq!((option, name), ("-i".into(), expected.into()));
    }

    /// Demuxers that open files that a clip names, run scripts or connect to servers.
    #[rstest]
    fn no_format_reads_anything_but_the_clip(
        #[values(
            "hls",
            "applehttp",
            "dash",
            "imf",
            "concat",
            "image2",
            "image2pipe",
            "vobsub",
            "mlv",
            "sdp",
            "rtsp",
            "sap",
            "avisynth",
            "vapoursynth",
            "lavfi",
            "ffmetadata",
            "svg_pipe",
            "webm_dash_manifest",
            "tty"
        )]
        name: &str,
    ) {
        assert!(!FORMATS.contains(&name));
    }
}
