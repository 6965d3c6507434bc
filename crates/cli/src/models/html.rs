//! A self-contained HTML page with the plots and the table of a training.
//!
//! The page has no scripts, and its content security policy forbids all requests. Every text is escaped, because
//! anybody with access to the registry may have written the names and messages.

mod svg;

use std::fmt::Write as _;

use super::chart::Chart;
use super::checkpoints::Checkpoint;
use super::list::{rmse, rmse_change, srocc, srocc_change};

const STYLE: &str = include_str!("html/style.css");

/// The page for the checkpoints of one training, the newest first.
pub(super) fn render(repository: &str, checkpoints: &[Checkpoint], charts: &[Chart]) -> String {
    let name = checkpoints.first().map(|checkpoint| checkpoint.metadata.name.as_str()).unwrap_or_default();
    let base =
        checkpoints.first().map(|checkpoint| checkpoint.metadata.base_model.as_str()).unwrap_or_default();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"vmafx\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<title>{title} · trained model</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<header class=\"page\">\n\
         <p class=\"brand\">VMAFX <span>trained model</span></p>\n<h1>{title}</h1>\n\
         <p class=\"against\">based on <strong>{base}</strong>, in <strong>{repository}</strong></p>\n\
         </header>\n<main>\n",
        title = text(name),
        base = text(base),
        repository = text(repository),
    );
    page.push_str(&summary(checkpoints));
    for chart in charts {
        let _ = write!(
            page,
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{name} over samples</h2>\n\
             <p class=\"hint\">{about}</p>\n<div class=\"panel\">\n\
             <p class=\"legend\"><span class=\"swatch model\"></span>{model} <span class=\"swatch base\"></span>{base} \
             (base) <span class=\"swatch point\"></span>stable</p>\n{svg}</div>\n</section>\n",
            id = chart.name.to_lowercase(),
            name = chart.name,
            about = text(&capitalized(chart.description)),
            model = text(&chart.legend[0]),
            base = text(&chart.legend[1]),
            svg = svg::render(chart),
        );
    }
    page.push_str(&table(checkpoints));
    page.push_str(
        "</main>\n<footer><p>Both models predict each sample before the trained model learns from it. The metrics are \
         over all samples so far: RMSE in points of the score, SROCC is Spearman's rank correlation.</p></footer>\n\
         </body>\n</html>\n",
    );
    page
}

/// The metrics of the newest checkpoint, and the stable one.
fn summary(checkpoints: &[Checkpoint]) -> String {
    let Some(newest) = checkpoints.first() else { return String::new() };
    let (model, base) = (&newest.metadata.all.model, &newest.metadata.all.base);
    let stable = checkpoints.iter().find(|checkpoint| checkpoint.stable);
    let stable = stable.map_or_else(|| "none yet".to_owned(), |stable| stable.metadata.version());
    let mut page = String::from("<dl class=\"tiles\">\n");
    for (name, value, more) in [
        ("RMSE", rmse(model), format!("{} vs base ({})", rmse_change(model, base), rmse(base))),
        ("SROCC", srocc(model), format!("{} vs base ({})", srocc_change(model, base), srocc(base))),
        ("Samples", newest.metadata.samples.to_string(), format!("{} refused", newest.metadata.refused)),
        ("Stable", stable, format!("newest is {}", newest.metadata.version())),
    ] {
        let (value, more) = (text(&value), text(&more));
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>");
    }
    page.push_str("</dl>\n");
    page
}

fn table(checkpoints: &[Checkpoint]) -> String {
    let mut page = String::from(
        "<section aria-labelledby=\"checkpoints\">\n<h2 id=\"checkpoints\">Checkpoints</h2>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"checkpoints\">\n<table>\n<thead><tr><th scope=\"col\">Version</th>\
         <th scope=\"col\">Samples</th><th scope=\"col\">RMSE</th><th scope=\"col\">vs base</th>\
         <th scope=\"col\">SROCC</th><th scope=\"col\">vs base</th><th scope=\"col\" class=\"words\">Gate</th>\
         <th scope=\"col\" class=\"words\">Created</th><th scope=\"col\" class=\"words\">Digest</th></tr></thead>\n<tbody>\n",
    );
    for Checkpoint { digest, stable, metadata } in checkpoints {
        let (model, base) = (&metadata.all.model, &metadata.all.base);
        let stable = if *stable { " <span class=\"stable\">stable</span>" } else { "" };
        let (class, gate) = if metadata.gate_passed { ("passed", "passed") } else { ("held", "held back") };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{version}{stable}</th><td>{samples}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td class=\"words\"><span class=\"{class}\">{gate}</span><small>{message}</small></td>\
             <td class=\"words\">{date}<small>{time} UTC</small></td><td class=\"words\"><code>{digest}</code></td></tr>",
            rmse(model),
            rmse_change(model, base),
            srocc(model),
            srocc_change(model, base),
            version = text(&metadata.version()),
            samples = metadata.samples,
            message = text(&metadata.gate_message),
            date = metadata.created.strftime("%Y-%m-%d"),
            time = metadata.created.strftime("%H:%M"),
            digest = digest.short(),
        );
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    page
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Escapes the text of an element or of an attribute in double quotes.
fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::chart::example;
    use super::super::checkpoints;
    use super::*;

    #[test]
    fn a_page_is_self_contained_and_has_all_values_as_text() {
        let page = render("r.example/models", &checkpoints::example(), &example());
        assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("src="), "{page}");
        assert!(page.contains("default-src 'none'"));
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(
            page.matches("<title").count(),
            1 + 2 + 10,
            "the page, both plots, and each checkpoint in both"
        );
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 5);
        assert!(page.contains("<dd>14.64<small>-25.5 % vs base (19.64)</small></dd>"), "{page}");
    }

    #[test]
    fn text_from_a_registry_cannot_become_markup() {
        let mut checkpoints = checkpoints::example();
        checkpoints[0].metadata.name = "<script>alert(1)</script>".to_owned();
        checkpoints[1].metadata.gate_message = "\"><img src=x>".to_owned();
        let page = render("r<b>", &checkpoints, &Chart::rmse_and_srocc(&checkpoints));
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"), "{page}");
    }
}
