//! A clip in chunks has the scores of the whole clip.

use std::sync::Arc;

use vmafx_scoring::engine::models::Model;
use vmafx_scoring::engine::session::{EngineSession, Registration, SessionSetup};
use vmafx_scoring::engine::{Engine, PicturePool};
use vmafx_scoring::score::chunk::{LEAD, TAIL};

use crate::clips::{Clips, LARGE, bits, every_model, format, outcome, picture, score_every};

#[test]
fn chunks_do_not_change_a_bit() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = clips.request(36);
    request.models = every_model();
    let whole = bits(&outcome(&request));
    for chunks in [2, 3, 7] {
        request.chunks = chunks;
        assert_eq!(bits(&outcome(&request)), whole, "{chunks} chunks");
    }
}

#[test]
fn chunks_with_a_step_do_not_change_a_bit() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = clips.request(36);
    request.models = every_model();
    score_every(&mut request, 7);
    let whole = bits(&outcome(&request));
    request.chunks = 7;
    assert_eq!(bits(&outcome(&request)), whole);
}

/// The score of one frame if the reference is read from `lead` frames before it to `tail` frames after it.
fn score_of(frame: u64, lead: u64, tail: u64) -> f64 {
    const MODEL: &str = "vmaf_v1.0.16_hfr_3d0h";
    let format = format(LARGE.0, LARGE.1);
    let models = [Model::named(MODEL).unwrap()];
    let mut session = EngineSession::new(&SessionSetup {
        format,
        models: &models,
        features: &[],
        clips: 1,
        separate_motion: true,
        threads: 1,
        registration: Registration::Lean,
        engine: Engine::default(),
        cpu_mask: 0,
    })
    .unwrap();
    let pool = PicturePool::new(format, 8).unwrap();
    let filled = |pool: &Arc<PicturePool>, number: u64, loss: u8| {
        let mut picture_buffer = pool.fetch().unwrap();
        let bytes = picture(format, number, loss);
        let mut rest = bytes.as_slice();
        for plane in &mut picture_buffer.planes() {
            for row in plane.rows_mut() {
                let (head, tail) = rest.split_at(row.len());
                row.copy_from_slice(head);
                rest = tail;
            }
        }
        picture_buffer.share()
    };
    for number in frame - lead..=frame + tail {
        let reference = filled(&pool, number, 0);
        session.reference(number, &reference).unwrap();
        if number == frame {
            session.pair(0, number, reference, filled(&pool, number, 3)).unwrap();
        }
    }
    let length = u32::try_from(lead + 1 + tail).unwrap();
    session.finish(&[length]).unwrap()[0].models[0].scores[0]
}

#[test]
#[allow(clippy::float_cmp)]
fn the_lead_and_the_tail_cover_the_window_of_motion() {
    for frame in 8..20 {
        assert_eq!(score_of(frame, LEAD, TAIL), score_of(frame, 8, 3), "frame {frame}");
    }
}

#[test]
#[allow(clippy::float_cmp)]
fn three_frames_of_lead_would_not_be_enough() {
    let differs = |frame: &u64| score_of(*frame, 3, TAIL) != score_of(*frame, 8, 3);
    assert!((8..20).filter(differs).count() > 0);
}
