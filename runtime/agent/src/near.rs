//! Which names did they mean? A name that does not exist and those that do go in; the nearest come out.

/// At most [`NEAR_MAX`] of `names` that differ from `wrong` in a few letters, or that contain it or lie in it; nearest
/// first.
pub(crate) fn nearest(wrong: &str, names: &[String]) -> Vec<String> {
    // A name longer than any tool's is no typing mistake, and the table would grow with it.
    if wrong.is_empty() || wrong.chars().count() > NAME_CHARS_MAX {
        return vec![];
    }
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|(letters, name)| *letters <= LETTERS_MAX || name.contains(wrong) || wrong.contains(name.as_str()))
        .collect();
    near.sort();
    near.into_iter().take(NEAR_MAX).map(|(_, name)| name.clone()).collect()
}

/// Letters to add, drop or change to make one from the other.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (index, a) in left.chars().enumerate() {
        let mut next = vec![index + 1];
        for ((b, across), up) in right.chars().zip(&row).zip(row.iter().skip(1)) {
            let before = next.last().copied().unwrap_or_default();
            let change = across + usize::from(a != b);
            next.push(change.min(up + 1).min(before + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Names shown; more would be a list, not a hint.
const NEAR_MAX: usize = 3;
/// Letters in which a typing mistake differs.
const LETTERS_MAX: usize = 3;
/// Providers accept no longer tool names than this.
const NAME_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_name() {
        let names = Vec::from(["files__read", "files__write", "web__fetch"].map(str::to_owned));
        let check = |wrong: &str, expected: &[&str]| assert_eq!(nearest(wrong, &names), expected, "{wrong}");
        check("files__raed", &["files__read"]);
        check("read", &["files__read"]);
        check("files_write", &["files__write"]);
        check("web__fetch_page", &["web__fetch"]);
        check("calendar", &[]);
        check("", &[]);
        check(&"files__read".repeat(7), &[]);
    }

    #[test]
    fn distance_counts_letters() {
        let check = |left: &str, right: &str, expected: usize| assert_eq!(distance(left, right), expected);
        check("", "", 0);
        check("", "abc", 3);
        check("abc", "", 3);
        check("kitten", "sitting", 3);
        check("äb", "ab", 1);
    }
}
