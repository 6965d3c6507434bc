//! One page that needs nothing but itself: both plots, and the table that says the same.
//!
//! There is no script in it, and its policy lets nothing be fetched. Every text is escaped: a name or a message in a
//! registry may have been written by anybody.

mod svg;

use std::fmt::Write as _;

use super::chart::Chart;
use super::list::{rmse, rmse_to, srocc, srocc_to};
use super::versions::Version;

const STYLE: &str = include_str!("page/style.css");

/// The page about the checkpoints of one training, the newest first.
pub(super) fn render(repository: &str, versions: &[Version], charts: &[Chart]) -> String {
    let name = versions.first().map(|version| version.facts.name.as_str()).unwrap_or_default();
    let base = versions.first().map(|version| version.facts.base_model.as_str()).unwrap_or_default();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"vmafx\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<title>{title} · learned model</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<header class=\"page\">\n\
         <p class=\"brand\">VMAFX <span>learned model</span></p>\n<h1>{title}</h1>\n\
         <p class=\"against\">begun with <strong>{base}</strong>, in <strong>{repository}</strong></p>\n\
         </header>\n<main>\n",
        title = text(name),
        base = text(base),
        repository = text(repository),
    );
    page.push_str(&summary(versions));
    for chart in charts {
        let _ = write!(
            page,
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{name} over samples</h2>\n\
             <p class=\"hint\">{about}</p>\n<div class=\"panel\">\n\
             <p class=\"legend\"><span class=\"swatch model\"></span>{model} <span class=\"swatch base\"></span>{base} \
             (base) <span class=\"swatch point\"></span>stable</p>\n{svg}</div>\n</section>\n",
            id = chart.name.to_lowercase(),
            name = chart.name,
            about = text(&sentence(chart.about)),
            model = text(&chart.legend[0]),
            base = text(&chart.legend[1]),
            svg = svg::render(chart),
        );
    }
    page.push_str(&table(versions));
    page.push_str(
        "</main>\n<footer><p>Every sample is predicted before it is learned from, by the model as it was then, and by \
         its base: the numbers are over all samples so far. RMSE in points of score; SROCC is Spearman's rank \
         correlation.</p></footer>\n</body>\n</html>\n",
    );
    page
}

/// The newest and the stable one, at a glance.
fn summary(versions: &[Version]) -> String {
    let Some(newest) = versions.first() else { return String::new() };
    let (model, base) = (&newest.facts.all.model, &newest.facts.all.base);
    let stable = versions.iter().find(|version| version.stable);
    let stable = stable.map_or_else(|| "none yet".to_owned(), |stable| stable.facts.version());
    let mut page = String::from("<dl class=\"tiles\">\n");
    for (name, value, more) in [
        ("RMSE", rmse(model), format!("{} to base ({})", rmse_to(model, base), rmse(base))),
        ("SROCC", srocc(model), format!("{} to base ({})", srocc_to(model, base), srocc(base))),
        ("Samples", newest.facts.samples.to_string(), format!("{} refused", newest.facts.refused)),
        ("Stable", stable, format!("newest is {}", newest.facts.version())),
    ] {
        let (value, more) = (text(&value), text(&more));
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>");
    }
    page.push_str("</dl>\n");
    page
}

fn table(versions: &[Version]) -> String {
    let mut page = String::from(
        "<section aria-labelledby=\"versions\">\n<h2 id=\"versions\">Versions</h2>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"versions\">\n<table>\n<thead><tr><th scope=\"col\">Version</th>\
         <th scope=\"col\">Samples</th><th scope=\"col\">RMSE</th><th scope=\"col\">to base</th>\
         <th scope=\"col\">SROCC</th><th scope=\"col\">to base</th><th scope=\"col\" class=\"words\">Gate</th>\
         <th scope=\"col\" class=\"words\">Created</th><th scope=\"col\" class=\"words\">Digest</th></tr></thead>\n<tbody>\n",
    );
    for Version { digest, stable, facts } in versions {
        let (model, base) = (&facts.all.model, &facts.all.base);
        let stable = if *stable { " <span class=\"stable\">stable</span>" } else { "" };
        let (class, gate) = if facts.gate_passed { ("passed", "passed") } else { ("held", "held back") };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{version}{stable}</th><td>{samples}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td class=\"words\"><span class=\"{class}\">{gate}</span><small>{message}</small></td>\
             <td class=\"words\">{date}<small>{time} UTC</small></td><td class=\"words\"><code>{digest}</code></td></tr>",
            rmse(model),
            rmse_to(model, base),
            srocc(model),
            srocc_to(model, base),
            version = text(&facts.version()),
            samples = facts.samples,
            message = text(&facts.gate_message),
            date = facts.created.strftime("%Y-%m-%d"),
            time = facts.created.strftime("%H:%M"),
            digest = digest.short(),
        );
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    page
}

fn sentence(words: &str) -> String {
    let mut signs = words.chars();
    signs.next().map(|first| first.to_uppercase().chain(signs).collect()).unwrap_or_default()
}

/// For the text of an element and for attributes in double quotes.
fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for sign in raw.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(sign),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::chart::example;
    use super::super::versions;
    use super::*;

    #[test]
    fn a_page_needs_nothing_but_itself_and_says_everything_in_words_too() {
        let page = render("r.example/models", &versions::example(), &example());
        assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("src="), "{page}");
        assert!(page.contains("default-src 'none'"));
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(
            page.matches("<title").count(),
            1 + 2 + 10,
            "the page, both plots, and every checkpoint in both"
        );
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 5);
        assert!(page.contains("<dd>14.64<small>-25.5 % to base (19.64)</small></dd>"), "{page}");
    }

    #[test]
    fn what_a_registry_says_cannot_become_markup() {
        let mut versions = versions::example();
        versions[0].facts.name = "<script>alert(1)</script>".to_owned();
        versions[1].facts.gate_message = "\"><img src=x>".to_owned();
        let page = render("r<b>", &versions, &Chart::both(&versions));
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"), "{page}");
    }
}
