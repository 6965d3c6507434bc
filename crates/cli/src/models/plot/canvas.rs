//! Dots in braille characters, each two dots wide and four dots high.

pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<u8>,
}

impl Canvas {
    /// The size is in characters.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![0; columns * rows] }
    }

    /// The width in dots.
    pub(super) fn width(&self) -> usize {
        self.columns * 2
    }

    /// The height in dots.
    pub(super) fn height(&self) -> usize {
        self.rows * 4
    }

    /// The dots of a character, as a bit mask.
    pub(super) fn dots(&self, column: usize, row: usize) -> u8 {
        self.cells.get(row * self.columns + column).copied().unwrap_or_default()
    }

    pub(super) fn line(&mut self, from: (usize, usize), to: (usize, usize), dashed: bool) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        for step in 0..=steps {
            let between = |a: usize, b: usize| {
                if a <= b { a + (b - a) * step / steps } else { a - (a - b) * step / steps }
            };
            let (x, y) = (between(from.0, to.0), between(from.1, to.1));
            if !dashed || x % 8 < 4 {
                self.set(x, y);
            }
        }
    }

    pub(super) fn cross(&mut self, (x, y): (usize, usize)) {
        for (x, y) in [(x, y), (x.saturating_sub(1), y), (x + 1, y), (x, y.saturating_sub(1)), (x, y + 1)] {
            self.set(x, y);
        }
    }

    fn set(&mut self, x: usize, y: usize) {
        // The bits of the dots in Unicode, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if x < self.width() && y < self.height() {
            self.cells[(y / 4) * self.columns + x / 2] |= BITS[y % 4][x % 2];
        }
    }
}

pub(super) fn braille(dots: u8) -> char {
    char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(canvas: &Canvas) -> Vec<String> {
        (0..canvas.rows)
            .map(|row| (0..canvas.columns).map(|column| braille(canvas.dots(column, row))).collect())
            .collect()
    }

    #[test]
    fn a_line_runs_from_corner_to_corner() {
        let mut canvas = Canvas::new(4, 2);
        canvas.line((0, 7), (7, 0), false);
        assert_eq!(shown(&canvas), ["⠀⠀⡠⠊", "⡠⠊⠀⠀"]);
    }

    #[test]
    fn a_dashed_line_has_gaps_and_nothing_is_drawn_outside() {
        let mut canvas = Canvas::new(6, 1);
        canvas.line((0, 0), (11, 0), true);
        canvas.set(100, 100);
        assert_eq!(shown(&canvas), ["⠉⠉⠀⠀⠉⠉"]);
    }
}
