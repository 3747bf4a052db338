//! What does an author declare? The text of a `component.toml` goes in, a checked [`Manifest`] comes out.
//!
//! ```toml
//! schema = 1
//! name = "acme/weather"
//! version = "1.0.0"
//! summary = "Tells the weather."
//! world = "chitin:tool/tool"
//! artifact = "weather.wasm"
//! [[http]]
//! host = "api.weather.test"
//! methods = ["GET"]
//! paths = ["/v1/**"]
//! reason = "the forecast comes from here"
//! ```

use chitin_types::{Capabilities, DocumentError, FsAsk, HttpAsk, KvAsk, RecallAsk, ToolName};
use serde::Deserialize;

use crate::{
    ChannelAsk, FunctionDoc, Version,
    asks::{check_reasons, check_shape},
    docs::check_docs,
    text::{is_file_name, is_shown_text, is_world},
};

/// One `component.toml`, as written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format; 1.
    pub schema: u32,
    /// Publisher and name.
    pub name: ToolName,
    /// The version of this release.
    pub version: Version,
    /// One sentence for the install page.
    pub summary: String,
    /// The WIT world that the component was built for.
    pub world: String,
    /// The file beside the manifest that holds the component; a name, never a path.
    pub artifact: String,
    /// Directories that it asks for.
    #[serde(default)]
    pub fs: Vec<FsAsk>,
    /// Requests that it asks for.
    #[serde(default)]
    pub http: Vec<HttpAsk>,
    /// A store of its own that it asks for.
    #[serde(default)]
    pub kv: Option<KvAsk>,
    /// Scopes of the memory that it asks for.
    #[serde(default)]
    pub recall: Option<RecallAsk>,
    /// What a channel needs of the host; only for a component of a channel world.
    #[serde(default)]
    pub channel: Option<ChannelAsk>,
    /// What is to be said of functions that a component of ordinary typed exports cannot say itself.
    #[serde(default, rename = "function")]
    pub functions: Vec<FunctionDoc>,
}

impl Manifest {
    /// Reads a manifest; `file` is its name for messages.
    ///
    /// # Errors
    /// Anything in it is unknown, misspelled, or asked for without a reason.
    pub fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let manifest: Self =
            toml::from_str(text).map_err(|e| DocumentError::parser(file, text, e.span(), e.message()))?;
        manifest.check(&|near, message| DocumentError::near(file, text, near, message))?;
        Ok(manifest)
    }

    /// Everything that it asks for.
    pub fn requests(&self) -> Capabilities {
        Capabilities { fs: self.fs.clone(), http: self.http.clone(), kv: self.kv.clone(), recall: self.recall.clone() }
    }

    fn check(&self, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
        if self.schema != 1 {
            return Err(wrong("schema", format!("schema {} is not known; this version reads 1", self.schema)));
        }
        if !is_shown_text(&self.summary, SUMMARY_CHARS_MAX) {
            let message =
                format!("the summary is empty, longer than {SUMMARY_CHARS_MAX} characters or has control characters");
            return Err(wrong("summary", message));
        }
        if !is_world(&self.world) {
            return Err(wrong("world", format!("world = {:?} is no name of a WIT world", self.world)));
        }
        if !is_file_name(&self.artifact) {
            let message = format!("artifact = {:?} is no plain file name", self.artifact);
            return Err(wrong("artifact", message).with_help("name the file only; it lies beside component.toml"));
        }
        if let Some(channel) = &self.channel {
            channel.check().map_err(|flaw| wrong(&flaw.near, flaw.message))?;
        }
        check_docs(&self.functions).map_err(|flaw| wrong(&flaw.near, flaw.message))?;
        let requests = self.requests();
        check_shape(&requests).map_err(|flaw| wrong(&flaw.near, flaw.message))?;
        check_reasons(&requests).map_err(|flaw| {
            wrong(&flaw.near, flaw.message).with_help("add reason = \"…\": it is shown to whoever installs the tool")
        })
    }
}

/// Length of a summary: a sentence or two of the install page.
pub(crate) const SUMMARY_CHARS_MAX: usize = 280;

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"schema = 1
name = "acme/weather"
version = "1.0.0"
summary = "Tells the weather."
world = "chitin:tool/tool"
artifact = "weather.wasm"

[[fs]]
at = "/cache"
mode = "rw"
reason = "keeps forecasts"

[[http]]
host = "api.weather.test"
methods = ["GET"]
paths = ["/v1/**"]
reason = "the forecast comes from here"
"#;

    #[test]
    fn a_good_manifest_is_read() {
        let manifest = Manifest::parse("component.toml", GOOD).expect("the manifest is good");
        assert_eq!(manifest.name.as_str(), "acme/weather");
        assert_eq!(manifest.requests().fs.len(), 1);
        assert_eq!(manifest.requests().http.len(), 1);
    }

    #[test]
    fn each_bad_line_refuses_the_manifest_with_its_place() {
        // The twin of each row is GOOD, from which it differs in exactly one line.
        for (line, bad, place, says) in [
            ("schema = 1", "schema = 2", "c.toml:1:1", "schema 2"),
            ("name = \"acme/weather\"", "name = \"weather\"", "c.toml:2:8", "tool name"),
            ("version = \"1.0.0\"", "version = \"1.0\"", "c.toml:3:11", "version"),
            ("summary = \"Tells the weather.\"", "summary = \"\"", "c.toml:4:1", "empty"),
            ("summary = \"Tells the weather.\"", "summary = \"\\u001b[2J\"", "c.toml:4:1", "control"),
            ("world = \"chitin:tool/tool\"", "world = \"a b\"", "c.toml:5:1", "WIT world"),
            ("artifact = \"weather.wasm\"", "artifact = \"../weather.wasm\"", "c.toml:6:1", "plain file name"),
            ("artifact = \"weather.wasm\"", "artifact = \"w.wasm\"\nhooks = []", "c.toml:7:1", "unknown field"),
            ("at = \"/cache\"", "at = \"cache\"", "c.toml:9:7", "absolute path"),
            ("reason = \"keeps forecasts\"", "", "c.toml:9:7", "without a reason"),
            ("methods = [\"GET\"]", "methods = [\"CONNECT\"]", "c.toml:15:13", "none of"),
            ("paths = [\"/v1/**\"]", "paths = [\"/v1*\"]", "c.toml:16:9", "path pattern"),
        ] {
            assert!(GOOD.contains(line), "the row's line {line:?} is not in the good manifest");
            let error = Manifest::parse("c.toml", &GOOD.replacen(line, bad, 1)).expect_err(bad);
            assert!(error.to_string().starts_with(place), "{bad}: {error}");
            assert!(error.message.contains(says), "{bad}: {error}");
        }
    }
}
