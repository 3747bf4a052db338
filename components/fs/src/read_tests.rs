//! Which lines a window holds, with buffers small enough that lines cross them.

use super::*;

fn check(text: &str, skipped_lines: u64, lines_max: u64, expected: (&str, u64, End)) {
    for buffer_bytes in [1, 3, 1024] {
        let limits = Limits { skipped_lines, lines_max, bytes_max: 12, skipped_bytes_max: 40 };
        let source = BufReader::with_capacity(buffer_bytes, text.as_bytes());
        let window = Window::of(source, &limits).expect("memory is readable");
        let said = (String::from_utf8(window.bytes).expect("UTF-8"), window.lines, window.end);
        assert_eq!(said, (expected.0.to_owned(), expected.1, expected.2), "{text:?} in buffers of {buffer_bytes}");
    }
}

#[test]
fn a_short_file_is_read_whole() {
    check("a\nb\n", 0, u64::MAX, ("a\nb\n", 2, End::OfFile));
    check("a\nb", 0, u64::MAX, ("a\nb", 2, End::OfFile));
    check("", 0, u64::MAX, ("", 0, End::BeforeOffset(0)));
    check("a\r\nb", 0, u64::MAX, ("a\r\nb", 2, End::OfFile));
}

#[test]
fn a_range_of_lines_is_read() {
    check("a\nb\nc\nd\n", 1, 2, ("b\nc\n", 2, End::More));
    check("a\nb\nc\n", 1, 2, ("b\nc\n", 2, End::OfFile));
    check("a\nb\nc", 2, 5, ("c", 1, End::OfFile));
    check("a\nb\n", 2, 1, ("", 0, End::BeforeOffset(2)));
    check("a\nb", 7, 1, ("", 0, End::BeforeOffset(2)));
}

#[test]
fn too_many_bytes_end_with_a_whole_line() {
    check("12345\n12345\n12345\n", 0, u64::MAX, ("12345\n12345\n", 2, End::More));
    check("12345\n1234567890\n", 0, u64::MAX, ("12345\n", 1, End::More));
}

#[test]
fn one_long_line_is_cut_between_characters() {
    check("12345678901234567890\nx", 0, u64::MAX, ("123456789012", 1, End::InsideOfLine));
    check("12345678901é", 0, u64::MAX, ("12345678901", 1, End::InsideOfLine));
}

#[test]
fn a_far_offset_is_refused() {
    check(&"123456789\n".repeat(9), 8, 1, ("", 0, End::TooFar));
}
