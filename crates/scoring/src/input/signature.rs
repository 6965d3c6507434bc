//! The first bytes by which containers, elementary streams and pictures are recognised. Pure.
//!
//! A match is a hint and not a proof: raw video may begin with any bytes. Flat luma of 0x47 looks like MPEG-TS, for example.
//! `ffmpeg` has the last word about a file that matches, and a file that does not match is not worth starting it if its
//! description fits.

/// How much of the start of a file is looked at: five packets of an MPEG transport stream, the longest of them 204 bytes.
pub(super) const START_BYTES: usize = 1024;

/// What files begin with.
const SIGNATURES: [&[u8]; 28] = [
    b"\x1a\x45\xdf\xa3",         // Matroska, WebM
    b"RIFF",                     // AVI, WebP, WAV
    b"\x00\x00\x01",             // MPEG program and elementary streams, VC-1, Annex B of H.264 and HEVC
    b"\x00\x00\x00\x01",         // Annex B with a long start code
    b"\x00\x00\x00\x00\x01\xbc", // GXF
    b"\x12\x00\x0a",             // AV1: temporal delimiter, sequence header
    b"DKIF",                     // IVF
    b"FLV\x01",
    b"\x06\x0e\x2b\x34",                 // MXF
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", // ASF, WMV
    b"\xb7\xd8\x00\x20",                 // WTV
    b"OggS",
    b"nut/multimedia container",
    b".RMF",             // RealMedia
    b"BBCD",             // Dirac, VC-2
    b"\x1f\x07\x00",     // DV
    b"SDPX",             // DPX
    b"XPDS",             // DPX, little-endian
    b"\x76\x2f\x31\x01", // OpenEXR
    b"\x89PNG",
    b"\xff\xd8\xff",     // JPEG
    b"\xff\x4f\xff\x51", // JPEG 2000
    b"\xff\x0a",         // JPEG XL
    b"GIF8",
    b"II*\x00", // TIFF
    b"MM\x00*", // TIFF, big-endian
    b"fLaC",
    b"ID3", // MP3
];

/// Types of the first box of MP4, `QuickTime` and their relatives, after the four bytes of its length.
const BOXES: [&[u8]; 18] = [
    b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"junk", b"pnot", b"pict",
    b"udta", b"uuid", b"sidx", b"emsg", b"prfl", b"jP  ", b"JXL ",
];

/// Whether a file that begins like this may be a container, an elementary stream or a picture.
pub(super) fn looks_like_container(start: &[u8]) -> bool {
    let boxed = start.get(4..8).is_some_and(|kind| BOXES.contains(&kind));
    boxed || SIGNATURES.iter().any(|signature| start.starts_with(signature)) || is_transport_stream(start)
}

/// Whether a sync byte stands at the start of five packets: plain ones, those of Blu-ray behind four bytes of time, or
/// those with error correction.
fn is_transport_stream(start: &[u8]) -> bool {
    const SYNC: u8 = 0x47;
    [(0, 188), (4, 192), (0, 204)]
        .into_iter()
        .any(|(first, length)| (0..5).all(|packet| start.get(first + packet * length) == Some(&SYNC)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn transport(first: usize, length: usize, packets: usize) -> Vec<u8> {
        let mut bytes = vec![0x20; START_BYTES];
        (0..packets).for_each(|packet| bytes[first + packet * length] = 0x47);
        bytes
    }

    #[rstest]
    #[case::plain(transport(0, 188, 5), true)]
    #[case::blu_ray(transport(4, 192, 5), true)]
    #[case::with_error_correction(transport(0, 204, 5), true)]
    #[case::four_sync_bytes_are_chance(transport(0, 188, 4), false)]
    #[case::a_box_behind_its_length(b"\0\0\0\x18ftypmp42".to_vec(), true)]
    #[case::a_box_without_its_length(b"ftypmp42".to_vec(), false)]
    #[case::black(vec![16; START_BYTES], false)]
    #[case::zeros(vec![0; START_BYTES], false)]
    #[case::nothing(vec![], false)]
    fn a_signature_stands_where_it_belongs(#[case] start: Vec<u8>, #[case] expected: bool) {
        assert_eq!(looks_like_container(&start), expected);
    }
}
