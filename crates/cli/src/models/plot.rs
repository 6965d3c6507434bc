//! A plot in a terminal, of braille characters with eight dots each.

mod canvas;

use std::fmt::Write as _;

use self::canvas::Canvas;
use super::chart::{Chart, Point};

/// Height of the plot area, in lines of text.
const ROWS: usize = 12;
const MIN_WIDTH: usize = 24;

const MODEL_COLOUR: &str = "\u{1b}[36m";
const BASE_COLOUR: &str = "\u{1b}[33m";
const RESET: &str = "\u{1b}[0m";

/// Draws at most `width` columns. The line of the trained model is solid, that of its base model is dashed.
pub(super) fn render(chart: &Chart, width: u16, styled: bool) -> String {
    let ticks: Vec<(f64, String)> =
        chart.y.ticks().into_iter().map(|tick| (tick, chart.y.label(tick))).collect();
    let margin = ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(1);
    let columns = usize::from(width).max(MIN_WIDTH).saturating_sub(margin + 3);
    let (mut model, mut base) = (Canvas::new(columns, ROWS), Canvas::new(columns, ROWS));
    draw(&mut base, chart, &chart.base, true);
    draw(&mut model, chart, &chart.model, false);

    let colour = |code: &'static str| if styled { (code, RESET) } else { ("", "") };
    let ((on, off), (base_on, base_off)) = (colour(MODEL_COLOUR), colour(BASE_COLOUR));
    let [model_name, base_name] = &chart.legend;
    let mut text = format!("{}, {}\n", chart.name, chart.description);
    let _ = writeln!(text, "{on}⠤⠤⠤⠤⠤{off} {model_name}   {base_on}⠤⠤ ⠤⠤{base_off} {base_name} (base)");
    for row in 0..ROWS {
        let label = ticks
            .iter()
            .find(|(tick, _)| row_of(chart.y.position(*tick)) == row)
            .map(|(_, label)| label.as_str());
        let mark = if label.is_some() { '┤' } else { '│' };
        let _ = write!(text, "{:>margin$} {mark}", label.unwrap_or_default());
        let (mut line, mut colour) = (String::new(), ("", ""));
        for column in 0..columns {
            let (over, under) = (model.dots(column, row), base.dots(column, row));
            let cell_colour = match (over, under) {
                (0, 0) => ("", ""),
                (0, _) => (base_on, base_off),
                _ => (on, off),
            };
            if cell_colour != colour {
                let _ = write!(line, "{}{}", colour.1, cell_colour.0);
                colour = cell_colour;
            }
            line.push(if over | under == 0 { ' ' } else { canvas::braille(over | under) });
        }
        line.push_str(colour.1);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(&axis(chart, margin, columns));
    text
}

/// The horizontal axis with its labels.
fn axis(chart: &Chart, margin: usize, columns: usize) -> String {
    let (mut line, mut labels) = (vec!['─'; columns], vec![' '; columns]);
    let mut free = 0;
    for tick in chart.x.ticks() {
        let column = scale(chart.x.position(tick), columns.saturating_sub(1));
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

fn draw(canvas: &mut Canvas, chart: &Chart, points: &[Point], dashed: bool) {
    let at = |point: &Point| {
        (
            scale(chart.x.position(point.x), canvas.width() - 1),
            scale(1.0 - chart.y.position(point.y), canvas.height() - 1),
        )
    };
    let dots: Vec<(usize, usize)> = points.iter().map(at).collect();
    for pair in dots.windows(2) {
        canvas.line(pair[0], pair[1], dashed);
    }
    if let [only] = dots.as_slice() {
        canvas.cross(*only);
    }
}

/// The line of text at a position on the vertical axis.
fn row_of(position: f64) -> usize {
    scale(1.0 - position, ROWS * 4 - 1) / 4
}

/// The index, from 0 to `last`, at a position from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a plot has a few hundred dots"
)]
fn scale(position: f64, last: usize) -> usize {
    (position.clamp(0.0, 1.0) * last as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::super::chart::example;
    use super::*;

    #[test]
    fn a_plot_fits_and_has_both_lines_and_axes() {
        for width in [40, 80, 200] {
            for chart in example() {
                // The terminal may wrap the two lines above the plot, but not the plot.
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
    fn the_line_of_the_lower_error_is_below() {
        let [rmse, _] = example().try_into().unwrap();
        let text = render(&rmse, 80, true);
        let row = |code: &str| {
            text.lines().collect::<Vec<_>>().iter().rposition(|line| line.contains(code)).unwrap()
        };
        assert!(row(MODEL_COLOUR) > row(BASE_COLOUR), "{text}");
    }
}
