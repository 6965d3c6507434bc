//! A plot in a terminal: two lines of dots, eight to a character.

mod canvas;

use std::fmt::Write as _;

use self::canvas::Canvas;
use super::chart::{Chart, Point};

/// Lines of a plot without its axis and title.
const ROWS: usize = 12;
/// A terminal cannot be narrower for a plot.
const NARROWEST: usize = 24;

const MODEL: &str = "\u{1b}[36m";
const BASE: &str = "\u{1b}[33m";
const END: &str = "\u{1b}[0m";

/// Draws it, at most `width` columns wide. The learned model's line is solid, that of its base has gaps.
pub(super) fn render(chart: &Chart, width: u16, styled: bool) -> String {
    let ticks: Vec<(f64, String)> =
        chart.y.ticks().into_iter().map(|tick| (tick, chart.y.label(tick))).collect();
    let margin = ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(1);
    let columns = usize::from(width).max(NARROWEST).saturating_sub(margin + 3);
    let (mut model, mut base) = (Canvas::new(columns, ROWS), Canvas::new(columns, ROWS));
    draw(&mut base, chart, &chart.base, true);
    draw(&mut model, chart, &chart.model, false);

    let colour = |code: &'static str| if styled { (code, END) } else { ("", "") };
    let ((on, off), (base_on, base_off)) = (colour(MODEL), colour(BASE));
    let [learned, began] = &chart.legend;
    let mut text = format!("{}, {}\n", chart.name, chart.about);
    let _ = writeln!(text, "{on}⠤⠤⠤⠤⠤{off} {learned}   {base_on}⠤⠤ ⠤⠤{base_off} {began} (base)");
    for row in 0..ROWS {
        // The tick that is nearest to this line, if one is.
        let label =
            ticks.iter().find(|(tick, _)| row_of(chart.y.at(*tick)) == row).map(|(_, label)| label.as_str());
        let mark = if label.is_some() { '┤' } else { '│' };
        let _ = write!(text, "{:>margin$} {mark}", label.unwrap_or_default());
        let (mut line, mut colour) = (String::new(), ("", ""));
        for column in 0..columns {
            let (over, under) = (model.dots(column, row), base.dots(column, row));
            let wanted = match (over, under) {
                (0, 0) => ("", ""),
                (0, _) => (base_on, base_off),
                _ => (on, off),
            };
            if wanted != colour {
                let _ = write!(line, "{}{}", colour.1, wanted.0);
                colour = wanted;
            }
            line.push(if over | under == 0 { ' ' } else { canvas::sign(over | under) });
        }
        line.push_str(colour.1);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(&axis(chart, margin, columns));
    text
}

/// The line below, with the numbers of samples.
fn axis(chart: &Chart, margin: usize, columns: usize) -> String {
    let (mut line, mut labels) = (vec!['─'; columns], vec![' '; columns]);
    let mut free = 0;
    for tick in chart.x.ticks() {
        let column = place(chart.x.at(tick), columns.saturating_sub(1));
        line[column] = '┬';
        let label = chart.x.label(tick);
        let start = column.saturating_sub(label.len() / 2).min(columns.saturating_sub(label.len()));
        if start >= free {
            for (offset, digit) in label.chars().enumerate() {
                labels[start + offset] = digit;
            }
            free = start + label.len() + 2;
        }
    }
    let (line, labels): (String, String) = (line.into_iter().collect(), labels.into_iter().collect());
    format!("{:margin$} └{line}\n{:margin$}  {}\n{:margin$}  samples\n", "", "", labels.trim_end(), "")
}

fn draw(canvas: &mut Canvas, chart: &Chart, points: &[Point], gaps: bool) {
    let at = |point: &Point| {
        (
            place(chart.x.at(point.x), canvas.width() - 1),
            place(1.0 - chart.y.at(point.y), canvas.height() - 1),
        )
    };
    let places: Vec<(usize, usize)> = points.iter().map(at).collect();
    for pair in places.windows(2) {
        canvas.line(pair[0], pair[1], gaps);
    }
    // A single checkpoint is a mark, not a line.
    if let [only] = places.as_slice() {
        canvas.mark(*only);
    }
}

/// The line of text in which a share of the height is.
fn row_of(share: f64) -> usize {
    place(1.0 - share, ROWS * 4 - 1) / 4
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few hundred dots"
)]
fn place(share: f64, last: usize) -> usize {
    (share.clamp(0.0, 1.0) * last as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::super::chart::example;
    use super::*;

    #[test]
    fn a_plot_fits_and_has_both_lines_and_axes() {
        for width in [40, 80, 200] {
            for chart in example() {
                // The words above it may be broken by the terminal; the plot may not.
                let text = render(&chart, width, false);
                assert!(
                    text.lines().skip(2).all(|line| line.chars().count() <= usize::from(width)),
                    "{width}:\n{text}"
                );
                assert!(text.contains("sports") && text.contains("vmaf_v0.6.1 (base)"), "{text}");
                assert!(text.contains('┤') && text.contains('┬') && text.contains("samples"), "{text}");
                assert!(!text.contains('\u{1b}'), "no colour without a terminal");
            }
        }
    }

    #[test]
    fn the_lower_line_is_the_better_model_s() {
        let [rmse, _] = example().try_into().unwrap();
        let text = render(&rmse, 80, true);
        let row = |code: &str| {
            text.lines().collect::<Vec<_>>().iter().rposition(|line| line.contains(code)).unwrap()
        };
        assert!(row(MODEL) > row(BASE), "{text}");
    }
}
