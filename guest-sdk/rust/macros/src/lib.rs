//! What becomes of a function marked `#[tool]`, and of a type marked `#[derive(Argument)]`.
//!
//! ```text
//!   claims (the attribute)  ─┐
//!   docs   (the comments)   ─┼─ tool ──── the function, and a type of its name that describes and calls it
//!   argument (parameters)   ─┘   │
//!            fields, variants ── derive ─ schema and reading of a struct or of a choice
//! ```
//!
//! Everything that can be wrong with a tool's description is an error here, at the place in the author's file.
//!
//! Never: what a call does. The code that is written out here only joins the pieces that `chitin-sdk` has.

mod argument;
mod claims;
mod derive;
mod docs;
mod tool;

use proc_macro::TokenStream;

/// Makes a tool of a function; see `chitin_sdk::tool`, where it is meant to be taken from.
#[proc_macro_attribute]
pub fn tool(claims: TokenStream, function: TokenStream) -> TokenStream {
    written(tool::expand(claims.into(), function.into()))
}

/// Makes an argument of a struct or of an enum without data; see `chitin_sdk::Argument`.
#[proc_macro_derive(Argument, attributes(arg))]
pub fn derive_argument(item: TokenStream) -> TokenStream {
    written(derive::expand(item.into()))
}

fn written(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
