//! A plot as SVG.

use std::fmt::Write as _;

use super::super::chart::{Chart, Point};
use super::text;

const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

/// The SVG has a title that summarizes the plot for screen readers, and each checkpoint has its own.
pub(super) fn render(chart: &Chart) -> String {
    let (x, y) = (
        |value: f64| LEFT + chart.x.position(value) * (WIDTH - LEFT - RIGHT),
        |value: f64| TOP + (1.0 - chart.y.position(value)) * (HEIGHT - TOP - BOTTOM),
    );
    let id = chart.name.to_lowercase();
    let mut svg = format!(
        "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-labelledby=\"{id}-title\">\n\
         <title id=\"{id}-title\">{}</title>\n",
        text(&summary(chart))
    );
    for tick in chart.y.ticks() {
        let (at, label) = (y(tick), chart.y.label(tick));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    let floor = HEIGHT - BOTTOM;
    for tick in chart.x.ticks() {
        let (at, label) = (x(tick), chart.x.label(tick));
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{floor}\" y2=\"{:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            floor + 5.0,
            floor + 19.0
        );
    }
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{floor}\" y2=\"{floor}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">samples</text>",
        WIDTH - RIGHT,
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 6.0
    );
    for (class, points) in [("base", &chart.base), ("model", &chart.model)] {
        let path: Vec<String> =
            points.iter().map(|point| format!("{:.1},{:.1}", x(point.x), y(point.y))).collect();
        let _ = writeln!(svg, "<polyline class=\"curve {class}\" points=\"{}\"/>", path.join(" "));
    }
    for point in &chart.model {
        let class = if point.stable { "dot stable" } else { "dot" };
        let radius = if point.stable { 6 } else { 4 };
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            x(point.x),
            y(point.y),
            text(&description(chart, point))
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn summary(chart: &Chart) -> String {
    let decimals = chart.decimals;
    match (chart.model.first(), chart.model.last(), chart.base.last()) {
        (Some(first), Some(last), Some(base)) => format!(
            "{} of {} over samples: from {:.decimals$} at {} samples to {:.decimals$} at {}; {:.decimals$} for the base model {}",
            chart.name, chart.legend[0], first.y, first.x, last.y, last.x, base.y, chart.legend[1]
        ),
        _ => format!("{} over samples: no data yet", chart.name),
    }
}

fn description(chart: &Chart, point: &Point) -> String {
    let (decimals, stable) = (chart.decimals, if point.stable { ", stable" } else { "" });
    format!("{}{stable}: {} {:.decimals$} after {} samples", point.version, chart.name, point.y, point.x)
}
