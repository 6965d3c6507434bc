//! Tables that fit the terminal.

use std::io::{self, IsTerminal};

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether bold text and colours are used.
    pub(crate) styled: bool,
    /// Width of the terminal in columns; `None`: as wide as the content.
    pub(crate) width: Option<u16>,
}

impl Look {
    /// For files and pipes.
    pub(crate) const PLAIN: Self = Self { styled: false, width: None };

    /// The style for standard output. `no_color` is the value of the environment variable `NO_COLOR`.
    pub(crate) fn of_stdout(no_color: Option<&std::ffi::OsStr>) -> Self {
        if !io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        Self { styled: no_color.is_none_or(std::ffi::OsStr::is_empty), width: Table::new().width() }
    }

    /// An empty table. All columns after the first `text_columns` hold numbers, which are aligned to the right.
    pub(crate) fn table(self, header: &[&str], text_columns: usize) -> Table {
        let line = LineStyle::none().fill('─').junction('─');
        let mut table = Table::new();
        table
            .load_style(TableStyle::new().header_separator(line))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(header.iter().map(|name| self.bold(Cell::new(name))))
            .force_no_tty();
        if self.styled {
            table.enforce_styling();
        }
        if let Some(width) = self.width {
            table.set_width(width);
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            // With the usual padding, ten numbers beside the name of a model would not fit into 100 columns.
            column.set_padding((0, 1));
            if index >= text_columns {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Whether the table fits without wrapping cells.
    pub(crate) fn fits(self, table: &Table) -> bool {
        let needed: usize =
            table.column_max_content_widths().iter().map(|width| usize::from(*width) + 2).sum();
        self.width.is_none_or(|width| needed <= usize::from(width) + 1)
    }

    pub(crate) fn bold(self, cell: Cell) -> Cell {
        if self.styled { cell.add_attribute(comfy_table::Attribute::Bold) } else { cell }
    }
}
