//! What a chitin tool written in Rust is made of.
//!
//! A tool is a function with a comment. The comment is what the model reads, and so are those of the arguments; the schema
//! follows from their types, an error becomes the answer to the call, and [`Context`] is there for what a call has besides.
//!
//! ```
//! use chitin_sdk::{Argument, Context, Failure, Json, export_tools, tool};
//!
//! /// A style of greeting.
//! #[derive(Argument)]
//! enum Style {
//!     Plain,
//!     /// With the hour of the day.
//!     ByTheHour,
//! }
//!
//! /// Says hello to somebody.
//! #[tool(idempotent, title = "Greet")]
//! fn greet(
//!     /// Who is greeted.
//!     #[arg(min_length = 1, max_length = 80)]
//!     name: String,
//!     /// How.
//!     #[arg(default = Style::Plain)]
//!     style: Style,
//!     ctx: &Context,
//! ) -> Result<String, Failure> {
//!     ctx.progress("looking at the clock", None);
//!     match style {
//!         Style::Plain => Ok(format!("Hello, {name}.")),
//!         Style::ByTheHour => Err(Failure::upstream("the clock has stopped").with_code("no-clock")),
//!     }
//! }
//!
//! /// Counts the letters of a name.
//! #[tool(reads, idempotent)]
//! fn letters(
//!     /// The name.
//!     name: String,
//! ) -> Json<usize> {
//!     Json(name.chars().count())
//! }
//!
//! export_tools!(greet, letters);
//! ```
//!
//! Who wants to describe tools without the macro implements [`ToolPack`] and names the type in [`export_pack!`]:
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

// The macros write paths that start at the name of this crate, also where they are used inside of it.
extern crate self as chitin_sdk;

mod argument;
pub mod bindings;
mod call;
mod context;
#[doc(hidden)]
pub mod expansion;
mod failure;
mod function;
pub mod http;
mod pack;
mod part;
mod result;
mod schema;
mod tool;

pub use argument::{Argument, Arguments, Parameter};
pub use bindings::chitin::host;
pub use bindings::chitin::types::types::{Blob, Failure, FailureKind, Part};
pub use bindings::exports::chitin::tool::guest::{Effects, Request as Call, Spec as Tool};
pub use chitin_sdk_macros::Argument;
/// Makes a tool of a function: the comment above it is what the model reads, up to a heading, at most 1,024 characters.
///
/// `#[tool(…)]` takes the effects that it claims (`reads`, `writes`, `destroys`, `open_world`, `idempotent`, `repeatable`,
/// `pays`) and `title = "…"`; without one the title is the name in words. A parameter is
///
/// - an argument, with a comment and, where wanted, `#[arg(min_length = …, max_length = …, minimum = …, maximum = …,
///   choices = […], default = …, name = "…")]`. Its type implements [`trait@Argument`], or is an `Option` of one when a call may
///   leave it out. A default is told to the model and filled in.
/// - or `#[args]` and a struct that derives [`trait@Argument`], for all arguments at once.
/// - `&Context`, for progress, time, and attached files.
///
/// The result is anything that implements [`IntoParts`]. The function itself stays as it is, so that tests call it.
///
/// What the model would miss is an error of the compiler; here the comment above the function:
///
/// ```compile_fail
/// #[chitin_sdk::tool]
/// fn letters(
///     /// The name.
///     name: String,
/// ) -> String {
///     name
/// }
/// ```
///
/// and with it:
///
/// ```
/// /// Gives a name back.
/// #[chitin_sdk::tool]
/// fn letters(
///     /// The name.
///     name: String,
/// ) -> String {
///     name
/// }
/// ```
pub use chitin_sdk_macros::tool;
pub use context::Context;
pub use function::ToolFunction;
pub use pack::{PackExport, ToolPack};
pub use result::{IntoParts, Json};
pub use schema::{ObjectSchema, Schema};
