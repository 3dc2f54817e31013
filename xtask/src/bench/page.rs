//! The page that holds the tables, each between two marks.

use std::fs;

use crate::step::{Result, root};

const PAGE: &str = "docs/benchmarks.md";

/// Puts each table between its marks.
pub(crate) fn write(parts: &[(String, String)]) -> Result {
    let path = root().join(PAGE);
    let mut page = fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    for (name, table) in parts {
        page = replaced(&page, name, table).ok_or_else(|| format!("{PAGE} has no marks for `{name}`"))?;
    }
    fs::write(&path, page).map_err(|error| format!("{PAGE}: {error}"))?;
    eprintln!("written to {PAGE}");
    Ok(())
}

/// The page with another table between the marks of that name.
fn replaced(page: &str, name: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(&format!("<!-- table {name} -->\n"))?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!(
        "{before}<!-- table {name} -->\n\n{}\n\n<!-- end -->{after}",
        table.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_table_is_replaced_between_its_marks_alone() {
        let page = "a\n<!-- table x -->\nold\n<!-- end -->\nb\n<!-- table y -->\n<!-- end -->\n";
        let expected = "a\n<!-- table x -->\n\nnew\n\n<!-- end -->\nb\n<!-- table y -->\n<!-- end -->\n";
        let once = replaced(page, "x", "new\n").unwrap();
        assert_eq!(once, expected);
        assert_eq!(replaced(&once, "x", "new\n").unwrap(), expected);
        assert_eq!(replaced(page, "z", "new"), None);
    }
}
