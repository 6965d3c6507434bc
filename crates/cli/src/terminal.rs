//! What is known about the terminal that output goes to.

use std::io::{self, IsTerminal};

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// How tables are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Bold and colour.
    pub(crate) styled: bool,
    /// Columns of the terminal; `None` for as wide as the content.
    pub(crate) width: Option<u16>,
}

impl Look {
    /// Without colour and as wide as needed: for files and pipes.
    pub(crate) const PLAIN: Self = Self { styled: false, width: None };

    /// For standard output as it is. `no_color` is the value of the environment variable of that name.
    pub(crate) fn of_stdout(no_color: Option<&std::ffi::OsStr>) -> Self {
        if !io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        Self { styled: no_color.is_none_or(std::ffi::OsStr::is_empty), width: Table::new().width() }
    }

    /// An empty table with this header; every column but the first `texts` holds numbers.
    pub(crate) fn table(self, header: &[&str], texts: usize) -> Table {
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
            // Narrower than usual: ten numbers beside a model's name should fit a hundred columns.
            column.set_padding((0, 1));
            if index >= texts {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Whether a table fits without breaking its cells.
    pub(crate) fn holds(self, table: &Table) -> bool {
        let needed: usize =
            table.column_max_content_widths().iter().map(|width| usize::from(*width) + 2).sum();
        self.width.is_none_or(|width| needed <= usize::from(width) + 1)
    }

    /// The cell in bold, where that can be shown.
    pub(crate) fn bold(self, cell: Cell) -> Cell {
        if self.styled { cell.add_attribute(comfy_table::Attribute::Bold) } else { cell }
    }
}
