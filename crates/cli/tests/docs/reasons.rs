//! docs/troubleshooting.md has an entry for every reason and no others.

use vmafx_api::conditions::Reason;

use crate::text;

/// The first cells of the tables of reasons, in order.
fn entries(text: &str) -> Vec<&str> {
    let tables = text.split("| reason | ").skip(1);
    let rows = tables.flat_map(|table| table.lines().take_while(|line| !line.is_empty()).skip(2));
    rows.filter_map(|row| row.strip_prefix("| `")?.split_once("` |")).map(|(reason, _)| reason).collect()
}

#[test]
fn every_reason_has_one_entry_and_there_are_no_others() {
    let text = text("docs/troubleshooting.md");
    let mut entries = entries(&text);
    let mut reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    entries.sort_unstable();
    reasons.sort_unstable();
    assert_eq!(entries, reasons);
}

#[test]
fn entries_are_the_first_cells_of_their_tables() {
    let text =
        "| reason | a |\n|---|---|\n| `One` | `Two` |\n\n| it says | a |\n|---|---|\n| `three` | b |\n";
    assert_eq!(entries(text), ["One"]);
}
