//! Which types can be arguments of a tool, and what the model is told about each.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ObjectSchema, Schema};

/// A type that an argument can have: texts, numbers, switches, lists, maps of texts, any JSON, and what derives it.
///
/// A struct with named fields becomes an object that refuses unknown names, an enum without data a fixed choice; comments
/// on fields and variants are what the model reads. Fields take the same `#[arg(…)]` as parameters of a [`tool`](crate::tool),
/// and a variant takes `#[arg(name = "…")]` when its name in small letters will not do.
///
/// ```
/// /// A part of a file.
/// #[derive(chitin_sdk::Argument)]
/// struct Range {
///     /// First line, from 1.
///     #[arg(minimum = 1)]
///     from: u32,
///     /// How many lines.
///     #[arg(default = 100)]
///     lines: u32,
/// }
///
/// #[derive(chitin_sdk::Argument)]
/// enum Order {
///     Newest,
///     /// The one that was touched longest ago comes first.
///     LeastUsed,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "not an argument",
    note = "use text, numbers, `bool`, `Vec`, `Option`, `BTreeMap<String, _>`, `serde_json::Value`, or a type of your own with \
            `#[derive(chitin_sdk::Argument)]`"
)]
pub trait Argument: DeserializeOwned {
    /// Its schema with this description; an empty one is for the items of a list, which is described itself.
    fn schema(description: &str) -> Schema;
}

/// All arguments of a tool as one type: what a struct that derives [`Argument`] is too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the arguments of a tool",
    label = "not a set of arguments",
    note = "`#[args]` takes a struct with `#[derive(chitin_sdk::Argument)]`"
)]
pub trait Arguments: DeserializeOwned {
    /// One property for each field, in their order.
    fn schema() -> ObjectSchema;
}

/// An argument, or `Option` of one that a call may leave out. Not implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "not an argument",
    note = "use text, numbers, `bool`, `Vec`, `Option`, `BTreeMap<String, _>`, `serde_json::Value`, or a type of your own with \
            `#[derive(chitin_sdk::Argument)]`"
)]
pub trait Parameter: DeserializeOwned {
    /// Whether a call may leave it out.
    const IS_OPTIONAL: bool;

    /// Its schema with this description.
    fn schema(description: &str) -> Schema;
}

impl<T: Argument> Parameter for T {
    const IS_OPTIONAL: bool = false;

    fn schema(description: &str) -> Schema {
        <T as Argument>::schema(description)
    }
}

impl<T: Argument> Parameter for Option<T> {
    const IS_OPTIONAL: bool = true;

    fn schema(description: &str) -> Schema {
        <T as Argument>::schema(description)
    }
}

macro_rules! arguments {
    ($($schema:expr => $($ty:ty),+;)+) => {
        $($(impl Argument for $ty {
            fn schema(description: &str) -> Schema {
                $schema(description)
            }
        })+)+
    };
}

arguments! {
    Schema::string => String;
    Schema::boolean => bool;
    Schema::integer => i8, i16, i32, i64;
    // Said to the model, because a host that knows it refuses a negative number with a better word than a type's name.
    |description| Schema::integer(description).minimum(0) => u8, u16, u32, u64;
    Schema::number => f32, f64;
    Schema::any => Value;
}

impl<T: Argument> Argument for Vec<T> {
    fn schema(description: &str) -> Schema {
        Schema::list(description, &T::schema(""))
    }
}

impl<T: Argument> Argument for BTreeMap<String, T> {
    fn schema(description: &str) -> Schema {
        Schema::map(description, &T::schema(""))
    }
}

#[cfg(test)]
#[path = "argument_tests.rs"]
mod tests;
