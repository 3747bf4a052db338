//! Which function runs which command?

use super::{
    adopt, approve, audit, chat, config, daemon, dev, doctor, grant, install, key, onboard, policy, sandbox, secret,
    session, status, tool,
};
use crate::{
    args::{Cli, Command, Sandbox, Tool},
    error::CliError,
    output::Output,
    wire::Wire,
};

/// Runs one command.
pub(crate) async fn run(cli: &Cli, output: &Output) -> Result<(), CliError> {
    let global = &cli.global;
    match &cli.command {
        Command::Onboard(args) => onboard::run(&Wire::create(global)?, args, output).await,
        Command::Key(args) => key::run(&Wire::create(global)?, args, output).await,
        Command::Run(args) => chat::once(&Wire::open(global)?, args, output).await,
        Command::Chat(args) => chat::dialogue(&Wire::open(global)?, args, output).await,
        Command::Daemon(args) => daemon::run(&Wire::open(global)?, args, output).await,
        Command::Status => status::run(&Wire::open(global)?, output).await,
        Command::Approve(args) => approve::run(&Wire::open(global)?, args, output).await,
        Command::Secret(args) => secret::run(&Wire::open(global)?, args, output).await,
        Command::Config(args) => config::run(&Wire::open(global)?, args, output),
        Command::Sandbox(Sandbox::Explain) => sandbox::explain(&Wire::open(global)?, output).await,
        Command::Tool(Tool::Sign(args)) => tool::sign(&Wire::create(global)?, args, output),
        Command::Tool(args) => of_tools(&Wire::open(global)?, args, output).await,
        Command::Policy(args) => policy::run(&Wire::open(global)?, args, output).await,
        Command::Session(args) => session::run(&Wire::open(global)?, args, output).await,
        Command::Audit(args) => audit::run(&Wire::open(global)?, args, output).await,
        Command::Doctor => doctor::run(&Wire::open(global)?, output).await,
    }
}

async fn of_tools(wire: &Wire, args: &Tool, output: &Output) -> Result<(), CliError> {
    match args {
        Tool::Sign(args) => tool::sign(wire, args, output),
        Tool::Verify { component } => install::verify(wire, component, output).await,
        Tool::Install(args) => install::run(wire, args, output).await,
        Tool::Dev(args) => dev::run(wire, args, output).await,
        Tool::Adopt(args) => adopt::run(wire, args, output).await,
        Tool::List => tool::list(wire, output),
        Tool::Inspect { tool } => tool::inspect(wire, tool, output).await,
        Tool::Call(args) => tool::call(wire, args, output).await,
        Tool::Grant(args) => grant::give(wire, args, output).await,
        Tool::Revoke(args) => grant::revoke(wire, args, output).await,
        Tool::Remove { tool } => tool::remove(wire, tool, output).await,
    }
}
