//! How is a component of ordinary typed functions a tool? Its type goes in; functions with a JSON Schema, and calls of
//! them, come out.
//!
//! ```text
//!   component type ─ exports ─→ Shape of each parameter and result ─┬ schema ─→ what the model reads
//!                      │                                            └ json   ─→ JSON ⇄ values, both ways alike
//!                      └ LeftOut: what cannot be offered, and why         call ─→ outcome
//! ```
//!
//! How a type is spelled in JSON:
//!
//! | WIT | JSON |
//! |---|---|
//! | `bool`, `string`, `f32`, `f64` | the same; a float that is not finite is refused |
//! | `s8` … `u32` | number |
//! | `s64`, `u64` | decimal digits in a string |
//! | `char` | a string of one character |
//! | `list<u8>` | base64 in a string |
//! | `list<T>`, `tuple<…>` | array |
//! | `record` | object; a field of `option` is absent when there is none |
//! | `variant` | object of one property, `{"case": payload}`, and `{"case": true}` without a payload |
//! | `enum` | string |
//! | `flags` | array of different strings |
//! | `option<T>` elsewhere | `null` when there is none |
//! | `result<T, E>` | `{"ok": …}` or `{"error": …}`, each `true` without a payload |
//!
//! A function whose whole result is `result<T, E>` fails with `E` and otherwise gives `T`.

mod call;
mod exports;
mod json;
mod schema;
mod shape;

pub(crate) use call::Typed;
pub(crate) use exports::reflect;

#[cfg(test)]
#[path = "through_host_tests.rs"]
mod tests;
