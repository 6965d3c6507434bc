//! The state of each component: a table that is rewritten in place on a terminal, elsewhere a line for each change.

use std::io::{self, IsTerminal as _, Write};

/// Maximum line length: a line that the terminal wraps could not be overwritten.
const WIDTH: usize = 79;

#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgressRow {
    name: String,
    state: String,
    note: String,
}

impl ProgressRow {
    fn line(&self) -> String {
        let Self { name, state, note } = self;
        let line = format!("  {name:<16} {state:<11} {note}");
        line.trim_end().chars().take(WIDTH).collect()
    }
}

pub(super) struct ProgressTable<W> {
    rows: Vec<ProgressRow>,
    to: W,
    in_place: bool,
}

impl ProgressTable<io::Stdout> {
    pub(super) fn new() -> Self {
        Self { rows: Vec::new(), to: io::stdout(), in_place: io::stdout().is_terminal() }
    }
}

impl<W: Write> ProgressTable<W> {
    /// Sets the state of a component, and prints it if it changed.
    pub(super) fn set(&mut self, name: &str, state: &str, note: &str) -> io::Result<()> {
        // Only the first line of a message fits the table.
        let note = note.lines().next().unwrap_or_default();
        let new = ProgressRow { name: name.to_owned(), state: state.to_owned(), note: note.to_owned() };
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
        let mut progress = ProgressTable { rows: Vec::new(), to: Vec::new(), in_place };
        progress.set("operator", "starting", "").unwrap();
        progress.set("vmjob/sample", "Pending", "waits").unwrap();
        progress.set("vmjob/sample", "Pending", "waits\nfor long").unwrap();
        progress.set("operator", "ready", "").unwrap();
        String::from_utf8(progress.to).unwrap()
    }

    #[test]
    fn without_a_terminal_every_change_is_a_line() {
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
        let mut progress = ProgressTable { rows: Vec::new(), to: Vec::new(), in_place: false };
        progress.set("a", "b", &"ü".repeat(200)).unwrap();
        assert_eq!(String::from_utf8(progress.to).unwrap().trim_end().chars().count(), WIDTH);
    }
}
