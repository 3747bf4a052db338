//! What does a channel need of the host? Routes that outside parties call, each with the recipe by which the host checks
//! who calls.
//!
//! ```toml
//! [channel]
//! tick_s = 30                          # on-tick is called this often; absent: never
//! [[channel.route]]
//! name = "in"
//! methods = ["POST"]
//! body_kib = 256
//! [channel.route.hmac]
//! header = "x-chitin-signature"        # hexadecimal HMAC-SHA256 after the prefix
//! prefix = "sha256="
//! timestamp_header = "x-chitin-timestamp"
//! tolerance_s = 300
//! ```
//!
//! The host signs what stands in the timestamp header, a full stop and the body; without a timestamp header the body
//! alone. Which secret it uses is the user's to say, in the configuration of the channel.

use serde::{Deserialize, Serialize};

use crate::asks::Flaw;

/// What a channel asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelAsk {
    /// Seconds between two calls of `on-tick`, 1 to 86,400; absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_s: Option<u32>,
    /// Routes, by name.
    #[serde(default, rename = "route", skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// One route below `/webhook/<channel>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// `in` is `/webhook/<channel>` itself, any other name `/webhook/<channel>/<name>`.
    pub name: String,
    /// Methods in upper case.
    pub methods: Vec<String>,
    /// Largest body in KiB, 1 to 1,024.
    pub body_kib: u32,
    /// How the host checks who calls. There is no route without a check.
    pub hmac: HmacRecipe,
}

/// An HMAC-SHA256 over the body, and over a time where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HmacRecipe {
    /// The header that carries the signature, in lower case. It is removed before the guest sees the request.
    pub header: String,
    /// What stands before the hexadecimal digits.
    #[serde(default)]
    pub prefix: String,
    /// The header that carries seconds since 1970; what is signed is then `<its text>.<body>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp_header: Option<String>,
    /// How far that time may lie from now, in seconds, 1 to 3,600. An older request is a replay.
    #[serde(default = "five_minutes")]
    pub tolerance_s: u32,
}

impl ChannelAsk {
    /// The route of this name.
    pub fn route(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name == name)
    }

    pub(crate) fn check(&self) -> Result<(), Flaw> {
        let flaw = |near: &str, message: String| Err(Flaw { near: near.to_owned(), message });
        if self.tick_s.is_some_and(|s| !(1..=86_400).contains(&s)) {
            return flaw("tick_s", "tick_s is not 1 to 86,400 seconds".to_owned());
        }
        if self.routes.len() > ROUTES_MAX {
            return flaw("route", format!("more than {ROUTES_MAX} routes"));
        }
        for (index, route) in self.routes.iter().enumerate() {
            let name = &route.name;
            if !is_token(name) || self.routes.iter().take(index).any(|other| other.name == *name) {
                return flaw(name, format!("route {name:?} is not a name of its own of a-z, 0-9 and hyphen"));
            }
            if route.methods.is_empty() || !route.methods.iter().all(|m| METHODS.contains(&m.as_str())) {
                return flaw(name, format!("route {name:?} has a method that is none of {}", METHODS.join(", ")));
            }
            if !(1..=BODY_KIB_MAX).contains(&route.body_kib) {
                return flaw("body_kib", format!("body_kib is not 1 to {BODY_KIB_MAX}"));
            }
            let recipe = &route.hmac;
            let headers = [Some(&recipe.header), recipe.timestamp_header.as_ref()];
            if let Some(header) = headers.into_iter().flatten().find(|h| !is_token(h)) {
                return flaw(header, format!("header {header:?} is not of a-z, 0-9 and hyphen"));
            }
            if !(1..=3_600).contains(&recipe.tolerance_s) {
                return flaw("tolerance_s", "tolerance_s is not 1 to 3,600 seconds".to_owned());
            }
        }
        Ok(())
    }
}

fn is_token(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn five_minutes() -> u32 {
    300
}

/// Routes of one channel; a platform has one or two.
const ROUTES_MAX: usize = 8;
/// Largest body of any route in KiB.
const BODY_KIB_MAX: u32 = 1_024;
/// What platforms send.
const METHODS: [&str; 3] = ["GET", "POST", "PUT"];

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"tick_s = 30
[[route]]
name = "in"
methods = ["POST"]
body_kib = 256
[route.hmac]
header = "x-chitin-signature"
prefix = "sha256="
timestamp_header = "x-chitin-timestamp"
"#;

    fn check(text: &str) -> Result<(), String> {
        let ask: ChannelAsk = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        ask.check().map_err(|flaw| flaw.message)
    }

    #[test]
    fn each_bad_line_is_refused_and_the_twin_is_read() {
        assert_eq!(check(GOOD), Ok(()));
        for (line, bad, says) in [
            ("tick_s = 30", "tick_s = 0", "tick_s"),
            ("name = \"in\"", "name = \"../in\"", "name of its own"),
            ("methods = [\"POST\"]", "methods = [\"CONNECT\"]", "none of"),
            ("body_kib = 256", "body_kib = 4096", "body_kib"),
            ("header = \"x-chitin-signature\"", "header = \"X Y\"", "header"),
            ("prefix = \"sha256=\"", "tolerance_s = 0", "tolerance_s"),
        ] {
            assert!(GOOD.contains(line), "{line}");
            let why = check(&GOOD.replacen(line, bad, 1)).expect_err(bad);
            assert!(why.contains(says), "{bad}: {why}");
        }
        let unchecked = GOOD.split("[route.hmac]").next().expect("the first part");
        assert!(check(unchecked).expect_err("a route without a check").contains("hmac"));
    }
}
