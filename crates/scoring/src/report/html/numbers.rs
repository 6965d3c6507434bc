//! The pooled scores: cards for one clip, a table for several.

use std::fmt::Write as _;

use super::clips::{ReportedClip, time};
use crate::report::escape::text;
use crate::report::pooling::{FrameValue, Pooled};
use crate::report::summary::ModelSummary;

pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    match clips {
        [one] => {
            one.summary.models.iter().map(|model| cards(one, model)).collect::<String>() + &features(one)
        }
        several => {
            let models = several.iter().map(|clip| clip.summary.models.len()).max().unwrap_or(0);
            (0..models).map(|index| comparison(several, index)).collect()
        }
    }
}

fn cards(clip: &ReportedClip<'_>, model: &ModelSummary) -> String {
    let rate = clip.outcome.distorted.frame_rate;
    let pooled = &model.pooled;
    let mut html = format!("<article class=\"model\"><header><h3>{}</h3>", text(&model.name));
    if let Some(why) = &model.picked_because {
        let _ = write!(html, "<p>picked because {}</p>", text(why));
    }
    let interval = model.ci95.map_or_else(String::new, |ci| {
        format!("<small>95 % between {:.2} and {:.2}</small>", ci.low, ci.high)
    });
    let _ = write!(
        html,
        "</header><dl><div class=\"hero\"><dt>Mean</dt><dd>{:.2}{interval}</dd></div>",
        pooled.mean
    );
    let plain = [("Harmonic mean", pooled.harmonic_mean), ("Standard deviation", pooled.stddev)];
    for (name, value) in plain {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{value:.2}</dd></div>");
    }
    for (name, pooled) in frame_values(pooled) {
        let when = time(pooled.frame, rate).map_or_else(String::new, |time| format!(" · {time}"));
        let _ = write!(
            html,
            "<div><dt>{name}</dt><dd>{:.2}<small>frame {}{when}</small></dd></div>",
            pooled.value, pooled.frame
        );
    }
    html + "</dl></article>"
}

fn frame_values(pooled: &Pooled) -> [(&'static str, FrameValue); 6] {
    [
        ("Minimum", pooled.min),
        ("1st percentile", pooled.p1),
        ("5th percentile", pooled.p5),
        ("10th percentile", pooled.p10),
        ("Median", pooled.p50),
        ("Maximum", pooled.max),
    ]
}

const COLUMNS: &str = "<th scope=\"col\">Mean</th><th scope=\"col\" title=\"Harmonic mean\">Harmonic</th>\
    <th scope=\"col\" title=\"Standard deviation\">Std. dev.</th><th scope=\"col\">Min</th>\
    <th scope=\"col\" title=\"1st percentile\">p1</th><th scope=\"col\" title=\"5th percentile\">p5</th>\
    <th scope=\"col\" title=\"10th percentile\">p10</th><th scope=\"col\" title=\"Median\">p50</th>\
    <th scope=\"col\">Max</th>";

fn cells(pooled: &Pooled, decimals: usize) -> String {
    let mut html = format!(
        "<td class=\"mean\">{:.decimals$}</td><td>{:.decimals$}</td><td>{:.decimals$}</td>",
        pooled.mean, pooled.harmonic_mean, pooled.stddev
    );
    for (_, pooled) in frame_values(pooled) {
        let _ = write!(html, "<td title=\"frame {}\">{:.decimals$}</td>", pooled.frame, pooled.value);
    }
    html
}

/// All clips by one model, with a bar from 0 to 100 for the mean.
fn comparison(clips: &[ReportedClip<'_>], index: usize) -> String {
    let mut rows = String::new();
    for (clip, model) in clips.iter().filter_map(|clip| Some((clip, clip.summary.models.get(index)?))) {
        let (format, colour) = (clip.outcome.distorted.format, clip.index % 8);
        let _ = write!(
            rows,
            "<tr><th scope=\"row\"><i class=\"swatch s{colour}\"></i>{}</th><td>{}x{}</td>\
             <td class=\"bar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect width=\"100\" height=\"8\" class=\"track\"/>\
             <rect width=\"{:.2}\" height=\"8\" class=\"s{colour}\"/></svg></td>{}</tr>",
            text(&clip.name),
            format.width,
            format.height,
            model.pooled.mean.clamp(0.0, 100.0),
            cells(&model.pooled, 2)
        );
    }
    let model = clips.iter().find_map(|clip| clip.summary.models.get(index));
    let name = model.map(|model| text(&model.name)).unwrap_or_default();
    let why = model.and_then(|model| model.picked_because.as_deref());
    let why = why.map_or_else(String::new, |why| format!(" <span>picked because {}</span>", text(why)));
    format!(
        "<div class=\"scroll\"><table class=\"comparison\"><caption>{name}{why}</caption><thead><tr>\
         <th scope=\"col\">Clip</th><th scope=\"col\">Size</th><th scope=\"col\" aria-hidden=\"true\"></th>{COLUMNS}\
         </tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The features of one clip, collapsed.
fn features(clip: &ReportedClip<'_>) -> String {
    if clip.summary.features.is_empty() {
        return String::new();
    }
    let row = |(name, pooled): (&String, &Pooled)| {
        format!("<tr><th scope=\"row\">{}</th>{}</tr>", text(name), cells(pooled, 4))
    };
    let rows: String = clip.summary.features.iter().map(row).collect();
    format!(
        "<details><summary>Features</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Feature</th>\
         {COLUMNS}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}
