//! What is left of markup.

use super::*;

fn page(html: &str) -> Page {
    Page::from_html(html, &Url::parse("https://example.org/docs/a").expect("a valid address"))
}

fn check(html: &str, expected: &str) {
    assert_eq!(page(html).text, expected, "{html}");
}

#[test]
fn paragraphs_and_headings_are_set_off() {
    check("<h1>One</h1><p>Two\n  words</p><p>Three</p>", "# One\n\nTwo words\n\nThree");
    check("<div>a</div><div>b</div>c<br>d", "a\nb\nc\nd");
    check("<p>a<p>b", "a\n\nb");
    check("a<b>b</b>c <i>d</i> e", "abc d e");
    check("a<hr>b", "a\n\n---\n\nb");
    check("<h3> </h3>x", "### x");
}

#[test]
fn characters_are_decoded() {
    check("a &amp; b&nbsp;&lt;c&gt; &eacute;&#8364; soft&shy;hyphen", "a & b <c> é€ softhyphen");
}

#[test]
fn scripts_styles_and_drawings_are_passed_over() {
    check("a<script>if (a < b) { '</p>' }</script>b", "ab");
    check("a<style>p{}</style> b", "a b");
    check("a<svg><title>x</title><svg></svg>y</svg>b", "ab");
    check("a<noscript>turn it on</noscript>b<!-- c -->", "ab");
    check("<select><option>x</select>a", "a");
}

#[test]
fn links_show_where_they_lead() {
    check("<a href='b?x=1#y'>there</a>.", "there (https://example.org/docs/b?x=1).");
    check("<a href=https://example.net/>https://example.net</a>", "https://example.net");
    check("<a href='#top'>up</a> <a name=x>x</a> <a href='javascript:f()'>f</a>", "up x f");
    check("<a href=/a></a>b", "b");
    check("<a href=/a>one <a href=/b>two</a>", "one (https://example.org/a) two (https://example.org/b)");
    check("<p><a href=/a>one</a><p>two", "one (https://example.org/a)\n\ntwo");
    check("<base href=/x/><a href=y>z</a>", "z (https://example.org/x/y)");
    check("<a href=/a><img alt='A cat' src=c></a>", "[image: A cat] (https://example.org/a)");
}

#[test]
fn lists_keep_their_order_and_depth() {
    check("<p>x</p><ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "x\n\n- a\n- b\n  - c\n- d\n\ne");
    check("<ol><li><p>a</p><li>b</ol>", "1. a\n2. b");
}

#[test]
fn tables_keep_their_rows() {
    check("<table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2");
}

#[test]
fn preformatted_text_keeps_its_lines() {
    check("<p>x</p><pre>\n  a\n    b\n</pre>y", "x\n\n  a\n    b\n\ny");
}

#[test]
fn the_title_is_kept_apart() {
    let read = page("<head><title>\n A &amp; B\n</title></head><body>text");
    assert_eq!(read, Page { title: Some("A & B".to_owned()), text: "text".to_owned() });
}

#[test]
fn the_main_part_is_preferred_when_there_is_one() {
    let body = "word ".repeat(60);
    check(&format!("<nav>menu</nav><main><p>{body}</p></main><footer>end</footer>"), body.trim());
    check("<nav>menu</nav><main>short</main>", "menu\n\nshort");
}

#[test]
fn broken_markup_is_read_as_far_as_it_goes() {
    check("a</div></ul></a></main>b", "a\n\nb");
    check("<a href='x", "");
    check("<ul>".repeat(5000).as_str(), "");
}
