//! What did the user configure? `config.toml` goes in; checked settings come out. A broken file is refused whole.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chitin_policy::{RootPlace, check_root};
use chitin_types::{DocumentError, ToolName, is_scope};
use serde::Deserialize;

use crate::{
    error::{CliError, Exit},
    home,
};

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: u32,
    /// Names and directories; `workspace` alone means the one inside the home.
    #[serde(default)]
    roots: BTreeMap<String, PathBuf>,
    provider: Option<ProviderWritten>,
    /// How native commands are held; see [`Sandbox`].
    #[serde(default)]
    sandbox: Sandbox,
    /// The `chitin` program that is started as a child for compiling and inside the sandbox; by default this one.
    program: Option<PathBuf>,
    #[serde(default)]
    gateway: GatewayWritten,
    #[serde(default)]
    memory: MemoryWritten,
    #[serde(default)]
    channels: BTreeMap<String, ChannelWritten>,
}

/// How native commands are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sandbox {
    /// The strongest that works here; none is a refusal.
    #[default]
    Detect,
    /// Bubblewrap, with Landlock and seccomp inside.
    Bubblewrap,
    /// Landlock and seccomp.
    Landlock,
    /// No sandbox at all: everything that the user may do.
    None,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GatewayWritten {
    #[serde(default = "listen")]
    listen: SocketAddr,
}

impl Default for GatewayWritten {
    fn default() -> Self {
        Self { listen: listen() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryWritten {
    /// Scopes that are looked through for each message; empty turns it off.
    #[serde(default = "default_scope")]
    scopes: Vec<String>,
}

impl Default for MemoryWritten {
    fn default() -> Self {
        Self { scopes: default_scope() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChannelWritten {
    tool: ToolName,
    /// Name of the secret that checks its webhooks.
    secret: Option<String>,
    /// Senders that are answered, by the platform's id. Nobody else is.
    #[serde(default)]
    allow: Vec<String>,
}

/// One configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) tool: ToolName,
    pub(crate) secret: Option<String>,
    pub(crate) allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderWritten {
    kind: Kind,
    base_url: Option<String>,
    model: Option<String>,
    api_key: Option<ApiKey>,
    #[serde(default = "yes")]
    stream: bool,
    /// Whether the server takes tools. Without them they are declared in the prompt and calls are read from the text.
    #[serde(default = "yes")]
    native_tools: bool,
}

/// Which codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    OpenaiChat,
    Offline,
}

/// Where the key is; never the key itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApiKey {
    env: String,
}

/// The settings as used.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) roots: BTreeMap<String, PathBuf>,
    pub(crate) provider: ProviderChoice,
    pub(crate) sandbox: Sandbox,
    pub(crate) program: Option<PathBuf>,
    pub(crate) listen: SocketAddr,
    pub(crate) recall_scopes: Vec<String>,
    pub(crate) channels: BTreeMap<String, Channel>,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProviderChoice {
    /// The built-in intent matcher.
    Offline,
    /// A server that speaks the chat completions of OpenAI.
    OpenaiChat {
        base_url: String,
        model: String,
        api_key: Option<chitin_types::Secret>,
        stream: bool,
        native_tools: bool,
    },
}

const FILE: &str = "config.toml";
const OPENAI: &str = "https://api.openai.com/v1";
/// Used when the environment holds a key and names no model.
const MODEL: &str = "gpt-4.1-mini";

/// What holds where nothing is written and there is no workspace.
const EMPTY: &str = "schema = 1\n";
/// The text of a new configuration.
pub(crate) const FRESH: &str = "\
schema = 1

# Directories that grants may mount, by name. A relative path lies below this home.
[roots]
default = \"workspace\"

# Which model answers. Without this table: the key in OPENAI_API_KEY, else the built-in offline provider.
# [provider]
# kind = \"openai-chat\"                    # or \"offline\"
# base_url = \"http://127.0.0.1:11434/v1\"
# model = \"llama3.2\"
# api_key = { env = \"OPENAI_API_KEY\" }
# native_tools = false                     # for a model that takes no tools

# How native commands are held: detect (the strongest that works here), bubblewrap, landlock, or none.
# sandbox = \"detect\"

# Scopes of the memory that are looked through for each message.
# [memory]
# scopes = [\"default\"]

# Where `chitin daemon` listens; loopback only.
# [gateway]
# listen = \"127.0.0.1:4747\"

# A channel is an installed component. Its webhook is POST /webhook/hook, checked with the secret of that name; only the
# senders named here are answered.
# [channels.hook]
# tool = \"chitin/webhook\"
# secret = \"hook\"
# allow = [\"alice\"]
";

impl Config {
    /// Reads the configuration of a home. A home without the file has the defaults.
    pub(crate) fn load(root: &Path) -> Result<Self, CliError> {
        let path = root.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // A home that holds keys and no workspace can still install.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !root.join("workspace").is_dir() => EMPTY.to_owned(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => FRESH.to_owned(),
            Err(e) => return Err(CliError::failed(format!("read {}: {e}", path.display()))),
        };
        // It names roots and endpoints, so whoever can write it can read and send what its owner can.
        let mode = std::fs::metadata(&path).map_or(0, |found| found.permissions().mode());
        if mode & 0o002 != 0 {
            let error = CliError::new(Exit::Config, format!("{} is not used: anyone may write it", path.display()));
            return Err(error.help(format!("chmod 600 {}", path.display())));
        }
        Self::parse(root, &path.display().to_string(), &text)
    }

    fn parse(root: &Path, file: &str, text: &str) -> Result<Self, CliError> {
        let written: Written =
            toml::from_str(text).map_err(|e| DocumentError::parser(file, text, e.span(), e.message()))?;
        if written.schema != 1 {
            return Err(
                DocumentError::near(file, text, "schema", format!("schema {} is not known", written.schema)).into()
            );
        }
        let mut roots = BTreeMap::new();
        for (name, given) in written.roots {
            let wrong = |why: String| CliError::from(DocumentError::near(file, text, &name, why));
            let joined = root.join(&given);
            let path =
                joined.canonicalize().map_err(|e| wrong(format!("root {name:?} at {}: {e}", joined.display())))?;
            let user = home::of_user();
            let state = root.canonicalize().unwrap_or_else(|_| root.to_owned());
            check_root(&RootPlace { path: &path, home: user.as_deref(), state: &state })
                .map_err(|e| wrong(e.to_string()))?;
            roots.insert(name, path);
        }
        let provider = match written.provider {
            None => from_environment(),
            Some(provider) => provider.chosen(file, text)?,
        };
        if !written.gateway.listen.ip().is_loopback() {
            let why = format!("{} is not a loopback address", written.gateway.listen);
            return Err(DocumentError::near(file, text, "listen", why)
                .with_help("listen on 127.0.0.1 and put a proxy that you trust in front")
                .into());
        }
        let mut channels = BTreeMap::new();
        for (name, ChannelWritten { tool, secret, allow }) in written.channels {
            let named = [Some(&name), secret.as_ref()].into_iter().flatten().find(|name| !is_scope(name));
            if let Some(bad) = named {
                let why = format!("{bad:?} is not 1 to 48 of a-z, 0-9 and hyphen");
                return Err(DocumentError::near(file, text, bad, why).into());
            }
            channels.insert(name, Channel { tool, secret, allow });
        }
        if let Some(scope) = written.memory.scopes.iter().find(|scope| !is_scope(scope)) {
            let why = format!("scope {scope:?} is not 1 to 48 of a-z, 0-9 and hyphen");
            return Err(DocumentError::near(file, text, scope, why).into());
        }
        Ok(Self {
            roots,
            provider,
            sandbox: written.sandbox,
            program: written.program.map(|program| root.join(program)),
            listen: written.gateway.listen,
            recall_scopes: written.memory.scopes,
            channels,
        })
    }
}

/// Adds a named root to the file, keeping the user's comments. The whole result is checked before it is written.
pub(crate) fn add_root(root: &Path, name: &str, path: &Path) -> Result<(), CliError> {
    let file = root.join(FILE);
    let mut document = document(root)?;
    let shown = path.to_str().ok_or_else(|| CliError::usage("the path is not UTF-8"))?;
    let roots = document.entry("roots").or_insert_with(toml_edit::table).as_table_like_mut();
    let roots = roots.ok_or_else(|| CliError::new(Exit::Config, format!("{}: roots is no table", file.display())))?;
    roots.insert(name, toml_edit::value(shown));
    save(root, &document)
}

/// The file as it is, or what a new home would have.
pub(crate) fn document(root: &Path) -> Result<toml_edit::DocumentMut, CliError> {
    let file = root.join(FILE);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| FRESH.to_owned());
    text.parse().map_err(|e| CliError::new(Exit::Config, format!("{}: {e}", file.display())))
}

/// Writes the file, if the whole of it is good.
pub(crate) fn save(root: &Path, document: &toml_edit::DocumentMut) -> Result<(), CliError> {
    let (file, text) = (root.join(FILE), document.to_string());
    Config::parse(root, &file.display().to_string(), &text)?;
    write(&file, &text)
}

/// Replaces the file whole, readable by its owner only.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), CliError> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let temporary = file.with_extension("toml.new");
    let write = || -> std::io::Result<()> {
        let mut out =
            std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&temporary, file)
    };
    write().map_err(|e| CliError::failed(format!("write {}: {e}", file.display())))
}

impl ProviderWritten {
    fn chosen(self, file: &str, text: &str) -> Result<ProviderChoice, CliError> {
        let missing = |what: &str| DocumentError::near(file, text, "[provider]", format!("[provider] needs {what}"));
        match self.kind {
            Kind::Offline => Ok(ProviderChoice::Offline),
            Kind::OpenaiChat => {
                let api_key = match &self.api_key {
                    None => None,
                    Some(ApiKey { env }) => Some(std::env::var(env).map(chitin_types::Secret::new).map_err(|_| {
                        let line =
                            DocumentError::near(file, text, env, format!("the environment variable {env} is not set"));
                        CliError::new(Exit::Config, line.to_string()).help(format!("export {env}=…"))
                    })?),
                };
                Ok(ProviderChoice::OpenaiChat {
                    base_url: self.base_url.ok_or_else(|| missing("base_url"))?,
                    model: self.model.ok_or_else(|| missing("model"))?,
                    api_key,
                    stream: self.stream,
                    native_tools: self.native_tools,
                })
            }
        }
    }
}

fn from_environment() -> ProviderChoice {
    let filled = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match filled("OPENAI_API_KEY") {
        None => ProviderChoice::Offline,
        Some(key) => ProviderChoice::OpenaiChat {
            base_url: filled("OPENAI_BASE_URL").unwrap_or_else(|| OPENAI.to_owned()),
            model: filled("OPENAI_MODEL").unwrap_or_else(|| MODEL.to_owned()),
            api_key: Some(chitin_types::Secret::new(key)),
            stream: true,
            native_tools: true,
        },
    }
}

fn yes() -> bool {
    true
}

fn listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 4747))
}

fn default_scope() -> Vec<String> {
    vec!["default".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let dir = std::env::temp_dir();
        let error = Config::parse(&dir, "config.toml", text).expect_err(text);
        assert_eq!(error.exit, Exit::Config, "{text}");
        error.message
    }

    #[test]
    fn a_broken_line_refuses_the_file_with_its_place() {
        assert!(refused("schema = 2\n").starts_with("config.toml:1:1:"));
        assert!(refused("schema = 1\nrootz = {}\n").starts_with("config.toml:2:1:"));
        assert!(refused("schema = 1\n[roots]\nx = \"/etc\"\n").contains("/etc"));
        assert!(refused("schema = 1\n[roots]\nx = \"/no/such/dir\"\n").starts_with("config.toml:3:1:"));
        assert!(refused("schema = 1\n[provider]\nkind = \"openai-chat\"\n").contains("base_url"));
        assert!(refused("schema = 1\n[provider]\nkind = \"gemini\"\n").starts_with("config.toml:3:8:"));
        assert!(refused("schema = 1\n[gateway]\nlisten = \"0.0.0.0:4747\"\n").contains("loopback"));
        assert!(refused("schema = 1\nsandbox = \"maybe\"\n").starts_with("config.toml:2:11:"));
        assert!(refused("schema = 1\n[channels.\"a b\"]\ntool = \"chitin/webhook\"\n").contains("hyphen"));
        let twin = Config::parse(&std::env::temp_dir(), "config.toml", "schema = 1\n[provider]\nkind = \"offline\"\n");
        assert_eq!(twin.expect("the twin is read").provider, ProviderChoice::Offline);
    }
}
