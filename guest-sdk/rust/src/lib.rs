//! What a chitin tool written in Rust is made of.
//!
//! A tool pack is one type that implements [`ToolPack`] and is exported once:
//!
//! ```
//! use chitin_sdk::{Call, Effects, Failure, Part, Schema, Tool, ToolPack, export_pack};
//!
//! struct Greeter;
//!
//! #[derive(serde::Deserialize)]
//! struct Greeting {
//!     name: String,
//! }
//!
//! impl ToolPack for Greeter {
//!     fn tools() -> Vec<Tool> {
//!         let input = Schema::object().required("name", Schema::string("Who is greeted."));
//!         vec![Tool::new("greet", "Greet", "Says hello to somebody.").input(input).effects(Effects::IDEMPOTENT)]
//!     }
//!
//!     fn invoke(call: Call) -> Result<Vec<Part>, Failure> {
//!         match call.tool.as_str() {
//!             "greet" => Ok(vec![Part::text(format!("Hello, {}.", call.args::<Greeting>()?.name))]),
//!             _ => Err(call.unknown_tool()),
//!         }
//!     }
//! }
//!
//! export_pack!(Greeter);
//! ```
//!
//! What the host offers beyond WASI lies in [`host`], one module for each capability, and [`http`] is a blocking client.
//! What a guest does not use leaves no import in its component, so the install review shows only what is needed.
//!
//! Never: anything of the host's side. The packages in `wit/` are all that both sides share.

pub mod bindings;
mod call;
mod failure;
pub mod http;
mod pack;
mod part;
mod schema;
mod tool;

pub use bindings::chitin::host;
pub use bindings::chitin::types::types::{Blob, Failure, FailureKind, Part};
pub use bindings::exports::chitin::tool::guest::{Effects, Request as Call, Spec as Tool};
pub use pack::{PackExport, ToolPack};
pub use schema::{ObjectSchema, Schema};
