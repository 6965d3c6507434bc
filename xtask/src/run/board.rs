//! What runs and how far it is: a table that is rewritten in place on a terminal, and elsewhere a line for each change.

use std::io::{self, IsTerminal as _, Write};

/// Longest line: one that the terminal would break cannot be taken back.
const WIDTH: usize = 79;

/// A part, in three words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    state: String,
    note: String,
}

impl Row {
    fn line(&self) -> String {
        let Self { name, state, note } = self;
        let line = format!("  {name:<16} {state:<11} {note}");
        line.trim_end().chars().take(WIDTH).collect()
    }
}

/// The table.
pub(super) struct Board<W> {
    rows: Vec<Row>,
    to: W,
    in_place: bool,
}

impl Board<io::Stdout> {
    /// On standard output.
    pub(super) fn new() -> Self {
        Self { rows: Vec::new(), to: io::stdout(), in_place: io::stdout().is_terminal() }
    }
}

impl<W: Write> Board<W> {
    /// A part is so now. What is so already is not said again.
    pub(super) fn set(&mut self, name: &str, state: &str, note: &str) -> io::Result<()> {
        // A message may have lines of its own.
        let note = note.lines().next().unwrap_or_default();
        let new = Row { name: name.to_owned(), state: state.to_owned(), note: note.to_owned() };
        let shown = self.rows.len();
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) if *row == new => return Ok(()),
            Some(row) => row.clone_from(&new),
            None => self.rows.push(new.clone()),
        }
        if !self.in_place {
            writeln!(self.to, "{}", new.line())?;
            return self.to.flush();
        }
        if shown > 0 {
            write!(self.to, "\x1b[{shown}A")?;
        }
        for row in &self.rows {
            writeln!(self.to, "\x1b[2K{}", row.line())?;
        }
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(in_place: bool) -> String {
        let mut board = Board { rows: Vec::new(), to: Vec::new(), in_place };
        board.set("operator", "starting", "").unwrap();
        board.set("vmjob/sample", "Pending", "waits").unwrap();
        board.set("vmjob/sample", "Pending", "waits\nfor long").unwrap();
        board.set("operator", "ready", "").unwrap();
        String::from_utf8(board.to).unwrap()
    }

    #[test]
    fn elsewhere_every_change_is_a_line_and_no_change_is_none() {
        let expected =
            "  operator         starting\n  vmjob/sample     Pending     waits\n  operator         ready\n";
        assert_eq!(shown(false), expected);
    }

    #[test]
    fn on_a_terminal_the_table_is_rewritten_in_place() {
        let expected = "\x1b[2K  operator         starting\n\
                        \x1b[1A\x1b[2K  operator         starting\n\x1b[2K  vmjob/sample     Pending     waits\n\
                        \x1b[2A\x1b[2K  operator         ready\n\x1b[2K  vmjob/sample     Pending     waits\n";
        assert_eq!(shown(true), expected);
    }

    #[test]
    fn no_line_is_longer_than_a_terminal() {
        let mut board = Board { rows: Vec::new(), to: Vec::new(), in_place: false };
        board.set("a", "b", &"ü".repeat(200)).unwrap();
        assert_eq!(String::from_utf8(board.to).unwrap().trim_end().chars().count(), WIDTH);
    }
}
