//! Which commands and flags are there? The command line, typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// An agent whose every tool is a signed WebAssembly component under a grant.
#[derive(Debug, Parser)]
#[command(name = "chitin", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "one field for each flag")]
pub(crate) struct Global {
    /// Directory that holds everything; by default `chitin` below the user's data directory.
    #[arg(long, global = true, env = "CHITIN_HOME", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print more of what happens; twice for all of it.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Never ask; whatever would be asked is answered with no.
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Answer the question of this command with yes. Never grants more than a file named with --grant.
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// When to colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a home: keys, workspace, first-party tools with their grants.
    Onboard(Onboard),
    /// Answer one message and exit.
    Run(Run),
    /// Talk, line by line.
    Chat(Chat),
    /// Serve: HTTP, WebSocket, channels, until it is stopped.
    Daemon(Daemon),
    /// Show whether a daemon runs, and how its channels are.
    Status,
    /// Look at what waits for a person, and answer it.
    #[command(subcommand)]
    Approve(Approve),
    /// Install, call and grant tools.
    #[command(subcommand)]
    Tool(Tool),
    /// Keep secrets that are put into requests and that no tool sees.
    #[command(subcommand)]
    Secret(Secret),
    /// Read and change the configuration.
    #[command(subcommand)]
    Config(Config),
    /// Look at the sandbox of native commands.
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// Make and trust signing keys.
    #[command(subcommand)]
    Key(Key),
    /// Ask what policy would say.
    #[command(subcommand)]
    Policy(Policy),
    /// Look at dialogues.
    #[command(subcommand)]
    Session(Session),
    /// Look at decisions and check that their record is whole.
    #[command(subcommand)]
    Audit(Audit),
    /// Check that everything here works.
    Doctor,
}

#[derive(Debug, Args)]
pub(crate) struct Onboard {
    /// Directory of signed first-party tools; by default `components` beside the binary.
    #[arg(long, env = "CHITIN_COMPONENTS", value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,
    /// Make a new token for the daemon; the old one stops working at once.
    #[arg(long)]
    pub(crate) new_token: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Daemon {
    /// Loopback address and port; port 0 takes a free one. By default what the configuration says.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approve {
    /// List open questions.
    List,
    /// Allow one call, once.
    Allow { id: String },
    /// Refuse one call.
    Deny { id: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Set a secret, read from standard input or asked for at the terminal; never from the command line.
    Set { name: String },
    /// List names; values are never shown.
    List,
    /// Remove a secret.
    Rm { name: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show one value, or the whole file.
    Get { key: Option<String> },
    /// Change one value, `gateway.listen` for example; the whole file is checked before it is written.
    Set { key: String, value: String },
    /// Check the configuration.
    Check,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Show the backend, what each layer stops, and prove it by trying.
    Explain,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The message; read from standard input when absent.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Session to go on with, by a name of your choice; a new one when absent.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// One message instead of a dialogue.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Session to go on with, by a name of your choice.
    #[arg(long, default_value = "chat", value_name = "NAME")]
    pub(crate) session: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// Sign a component with one of your keys.
    Sign(ToolSign),
    /// Check a component's signature without installing it.
    Verify { component: PathBuf },
    /// Verify, review, grant, install.
    Install(ToolInstall),
    /// Call one function of an unsigned component of your own, in this process only and without secrets.
    Dev(ToolDev),
    /// Sign somebody else's component with your key, and install it.
    Adopt(ToolAdopt),
    /// List installed tools.
    List,
    /// Show one tool: signer, functions, what it asked for and what it may do.
    Inspect { tool: String },
    /// Call one function, under the tool's grant.
    Call(ToolCall),
    /// Allow a tool something.
    Grant(ToolGrant),
    /// Take a tool's grant away, or one rule of it.
    Revoke(ToolRevoke),
    /// Remove a tool with its grant.
    Remove { tool: String },
}

#[derive(Debug, Args)]
pub(crate) struct ToolSign {
    pub(crate) component: PathBuf,
    /// The manifest: name, version, what it asks for and why.
    #[arg(long, value_name = "FILE", default_value = "component.toml")]
    pub(crate) manifest: PathBuf,
    /// Name of the signing key.
    #[arg(long, value_name = "NAME")]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
pub(crate) struct ToolInstall {
    pub(crate) component: PathBuf,
    /// A grant file; without it a person is asked, and with --no-input nothing is granted.
    #[arg(long, value_name = "FILE")]
    pub(crate) grant: Option<PathBuf>,
    /// Accept an older version than the installed one.
    #[arg(long)]
    pub(crate) allow_downgrade: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolDev {
    pub(crate) component: PathBuf,
    /// The function; the list of functions is printed when absent.
    pub(crate) function: Option<String>,
    /// One JSON object, or key=value pairs.
    pub(crate) args: Vec<String>,
    /// A grant file for it; without one it may compute and nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) grant: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolAdopt {
    pub(crate) component: PathBuf,
    /// `publisher/name` under which it is installed; your key must be trusted to sign it.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Its version.
    #[arg(long, default_value = "0.1.0", value_name = "VERSION")]
    pub(crate) release: String,
    /// One sentence about it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// A manifest, in the place of --name, --release and --summary: what it asks for, and texts for its functions.
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Name of your signing key.
    #[arg(long, value_name = "NAME")]
    pub(crate) key: String,
    /// A grant file; without it it may compute and nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) grant: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) function: String,
    /// One JSON object, or key=value pairs.
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolGrant {
    pub(crate) tool: String,
    #[command(subcommand)]
    pub(crate) what: Option<GrantWhat>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantWhat {
    /// Requests: `https://host[:port]` (or `http://…`), with methods and paths.
    Net {
        origin: String,
        /// A method; may be given more than once.
        #[arg(long = "method", value_name = "METHOD", default_value = "GET")]
        methods: Vec<String>,
        /// A path pattern; may be given more than once.
        #[arg(long = "path", value_name = "PATTERN", default_value = "/**")]
        paths: Vec<String>,
    },
    /// A directory: `PATH:ro` or `PATH:rw`.
    Fs { path_and_mode: String },
    /// A store of its own.
    Kv {
        /// Keys and values together, in KiB.
        #[arg(long, default_value_t = 512)]
        quota_kib: u64,
    },
    /// A scope of the memory: `SCOPE:read` or `SCOPE:write`.
    Recall { scope_and_mode: String },
    /// A setting that it may read: `KEY=VALUE`.
    Config { key_and_value: String },
    /// A secret that is put into the requests of one http rule; the tool never sees it.
    Secret {
        /// The id of the rule.
        rule: String,
        /// The name of the secret.
        name: String,
        /// The header that carries it.
        #[arg(long, default_value = "authorization")]
        header: String,
        /// The header's value, with {} where the secret goes.
        #[arg(long, default_value = "Bearer {}")]
        format: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ToolRevoke {
    pub(crate) tool: String,
    /// One rule: the id of an http rule, or the path of a mount. The whole grant when absent.
    pub(crate) rule: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a signing key.
    New { name: String },
    /// Trust somebody's key: shows its fingerprint first.
    Trust { file: PathBuf },
    /// List trusted keys and your own.
    List,
    /// End the trust in a key; tools that it signed stop at their next call.
    Revoke { name: String },
    /// Write the trust file that others need to trust one of your keys.
    Export {
        name: String,
        /// Names that the key may sign, `publisher/*` or `publisher/name`; may be given more than once.
        #[arg(long, required = true, value_name = "PATTERN")]
        names: Vec<String>,
        /// The file to write.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Check every policy and trust file.
    Check,
    /// Would this be allowed? `net URL [--method M]`, `fs PATH:ro`, `call FUNCTION`.
    Can {
        tool: String,
        kind: QueryKind,
        value: String,
        #[arg(long, default_value = "GET")]
        method: String,
    },
    /// Everything that a tool may do.
    Explain { tool: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryKind {
    Net,
    Fs,
    Call,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// List sessions, newest first.
    List,
    /// Show one session.
    Show { id: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Show the newest records.
    Tail {
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
    },
    /// Check that no record was altered, removed, reordered or cut off.
    Verify,
    /// Everything that is recorded about one call.
    Why { call: String },
}
