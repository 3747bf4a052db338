//! Which URLs are read, and which can be read in two ways?

use super::*;

#[test]
fn plain_urls_give_one_target() {
    let check = |text: &str, scheme: Scheme, host: &str, port: u16, path: &str| {
        let target = parse("GET", text).expect(text).decided;
        let expected =
            HttpTarget { scheme, host: host.to_owned(), port, method: "GET".to_owned(), path: path.to_owned() };
        assert_eq!(target, expected, "{text}");
    };
    check("https://good.test", Scheme::Https, "good.test", 443, "/");
    check("https://Good.TEST/a?b#c", Scheme::Https, "good.test", 443, "/a");
    check("http://good.test:8080/a/b", Scheme::Http, "good.test", 8080, "/a/b");
    check("http://127.0.0.1:9/", Scheme::Http, "127.0.0.1", 9, "/");
    check("http://[::1]:9/x", Scheme::Http, "::1", 9, "/x");
    check("https://good.test/a/../b", Scheme::Https, "good.test", 443, "/b");
    check("https://xn--bcher-kva.test/", Scheme::Https, "xn--bcher-kva.test", 443, "/");
}

#[test]
fn second_spellings_of_a_host_are_refused() {
    for text in [
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://0x7f.0.0.1/",
        "http://127.000.000.001/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://127%2e0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::1%25lo]/",
        "http://good.test./",
        "http://bücher.test/",
        "http://ⓛocalhost/",
        "http://local\u{ad}host/",
        "http://4294967296/",
        "http://ＧＯＯＤ.test/",
    ] {
        assert!(matches!(parse("GET", text), Err(EgressError::BadUrl(_))), "{text} {:?}", parse("GET", text));
    }
}

#[test]
fn urls_that_two_parsers_read_differently_are_refused() {
    for text in [
        "https://user@good.test/",
        "https://user:pw@good.test/",
        "https://good.test@evil.test/",
        "https://evil.test#@good.test/x\\",
        "https:/good.test",
        "https:good.test",
        "https:\\\\good.test",
        "https://good.test\\@evil.test/",
        "https://good.test:80:80/",
        "https://good.test:65536/",
        "https://good.test:+80/",
        "https://good.test:/",
        "https://good.test:0/",
        "https://good.test/a b",
        "https://good.test/\r\nHost: evil",
        "https://good.test/\0",
        "https://[::1]good.test/",
        "https://[::1",
        "https:///path",
        "https://",
        "file:///etc/passwd",
        "ftp://good.test/",
        "HTTPS://good.test/",
        "//good.test/",
        "data:text/plain,hi",
        "javascript:1",
        "unix:/run/x.sock",
        "",
        "https://%67ood.test/",
    ] {
        assert!(matches!(parse("GET", text), Err(EgressError::BadUrl(_))), "{text} {:?}", parse("GET", text));
    }
    assert!(parse("get", "https://good.test/").is_err());
    assert!(parse("GET", &format!("https://good.test/{}", "a".repeat(9000))).is_err());
}
