//! What was compared, how, and with which software: enough to reproduce the comparison.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::clips::ReportedClip;
use crate::outcome::InputDetails;
use crate::report::escape::text;
use crate::report::wording;

/// A list of details of all clips. What the clips share is listed once.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    let mut html = String::from("<dl class=\"facts\">");
    if let Some(first) = clips.first() {
        html.push_str(&input("Reference", &first.outcome.reference));
    }
    for clip in clips {
        let label =
            if clips.len() > 1 { format!("Distorted {}", clip.index + 1) } else { "Distorted".to_owned() };
        html.push_str(&input(&label, &clip.outcome.distorted));
        entry(&mut html, "Compared as", &text(&wording::alignment(&clip.outcome.alignment)));
    }
    let models: BTreeSet<_> = clips
        .iter()
        .flat_map(|clip| &clip.outcome.models)
        .map(|model| (&model.name, model.picked_because.as_ref(), &model.digest))
        .collect();
    for (name, why, digest) in models {
        let why = why.map_or_else(String::new, |why| format!(", picked because {}", text(why)));
        entry(&mut html, "Model", &format!("{}{why}<code>{}</code>", text(name), text(digest)));
    }
    let engines: BTreeSet<_> = clips
        .iter()
        .map(|clip| &clip.outcome.engine)
        .map(|engine| (&engine.features, &engine.vmafx, &engine.libvmaf))
        .collect();
    for (features, vmafx, libvmaf) in engines {
        let versions = format!("{}; vmafx {}, libvmaf {}", text(features), text(vmafx), text(libvmaf));
        entry(&mut html, "Engine", &versions);
    }
    html + "</dl>"
}

fn input(label: &str, details: &InputDetails) -> String {
    let mut html = String::new();
    let value = format!(
        "<strong>{}</strong><span>{}</span><code>{}</code>",
        text(&details.path.display().to_string()),
        text(&wording::input(details)),
        text(&details.digest)
    );
    entry(&mut html, label, &value);
    html
}

fn entry(html: &mut String, name: &str, value: &str) {
    let _ = write!(html, "<div><dt>{}</dt><dd>{value}</dd></div>", text(name));
}
