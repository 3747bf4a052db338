//! What becomes of a function marked `#[tool]`? It stays as it is, and a type of the same name describes and calls it.
//!
//! Functions and types live in two namespaces, so `file_read(…)` is still the function, which tests call, while
//! `export_tools!(file_read)` names the type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, FnArg, Ident, ItemFn, Pat, PatType, Signature, Type};

use crate::argument::{Argument, expand_object};
use crate::claims::Claims;
use crate::docs;

pub(crate) fn expand(claims: TokenStream, function: TokenStream) -> syn::Result<TokenStream> {
    let claims: Claims = syn::parse2(claims)?;
    let mut function: ItemFn = syn::parse2(function)?;
    check_signature(&function.sig)?;
    let (ident, name) = (function.sig.ident.clone(), checked_name(&function.sig.ident)?);
    let summary = checked_summary(&function)?;
    let inputs = function.sig.inputs.iter_mut().map(Input::take).collect::<syn::Result<Vec<_>>>()?;

    let arguments = arguments(&ident, &inputs)?;
    let given = inputs.iter().map(Input::given);
    let (title, effects, visibility) = (claims.title(&name), claims.effects(), &function.vis);
    let schema = arguments.schema;
    let (fields, items, read) = (arguments.fields, arguments.items, arguments.read);
    // A tool owns what it was called with, used up or not. Allowed and not expected, since not every function needs it.
    Ok(quote! {
        #[allow(clippy::needless_pass_by_value)]
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #ident { #fields }

        const _: () = {
            #items
            impl ::chitin_sdk::ToolFunction for #ident {
                const NAME: &'static str = #name;

                fn tool() -> ::chitin_sdk::Tool {
                    ::chitin_sdk::Tool::new(#name, #title, #summary).input(#schema).effects(#effects)
                }

                fn call(
                    call: ::chitin_sdk::Call,
                ) -> ::core::result::Result<::std::vec::Vec<::chitin_sdk::Part>, ::chitin_sdk::Failure> {
                    let __arguments: #read = call.args()?;
                    let __context = ::chitin_sdk::Context::of(call);
                    ::chitin_sdk::IntoParts::into_parts(#ident(#(#given),*))
                }
            }
        };
    })
}

/// One parameter of the function.
enum Input {
    /// A named argument.
    One(Box<Argument>),
    /// A struct that holds all arguments, for tools that have many.
    All(Box<Type>),
    /// The call itself: `&Context`.
    Context,
}

impl Input {
    /// Takes the attributes away that only the macro understands.
    fn take(input: &mut FnArg) -> syn::Result<Self> {
        let FnArg::Typed(PatType { attrs, pat, ty, .. }) = input else {
            return Err(syn::Error::new_spanned(input, "a tool is a function of its own, not a method"));
        };
        let is_own = |attribute: &Attribute| ["doc", "arg", "args"].iter().any(|own| attribute.path().is_ident(own));
        let (own, kept) = std::mem::take(attrs).into_iter().partition(is_own);
        *attrs = kept;
        let own: Vec<Attribute> = own;
        if own.iter().any(|attribute| attribute.path().is_ident("args")) {
            return Ok(Self::All(ty.clone()));
        }
        if is_context(ty) {
            return Ok(Self::Context);
        }
        match &**pat {
            Pat::Ident(name) if name.subpat.is_none() => {
                Ok(Self::One(Box::new(Argument::read(&name.ident, ty, &own)?)))
            }
            other => Err(syn::Error::new_spanned(other, "give the argument a plain name: the model uses it")),
        }
    }

    fn given(&self) -> TokenStream {
        match self {
            Self::One(argument) => {
                let name = &argument.ident;
                quote!(__arguments.#name)
            }
            Self::All(_) => quote!(__arguments),
            Self::Context => quote!(&__context),
        }
    }
}

/// How the arguments of a tool are described and read.
struct Expanded {
    /// Fields of the type that is named like the function.
    fields: TokenStream,
    items: TokenStream,
    schema: TokenStream,
    /// The type that the arguments are read into.
    read: TokenStream,
}

fn arguments(ident: &Ident, inputs: &[Input]) -> syn::Result<Expanded> {
    let of_call = inputs.iter().filter(|input| !matches!(input, Input::Context));
    if let Some(ty) = inputs.iter().find_map(|input| if let Input::All(ty) = input { Some(ty) } else { None }) {
        if of_call.count() > 1 {
            return Err(syn::Error::new_spanned(ty, "`#[args]` holds all arguments: put the others into it"));
        }
        let schema = quote!(<#ty as ::chitin_sdk::Arguments>::schema());
        return Ok(Expanded { fields: TokenStream::new(), items: TokenStream::new(), schema, read: quote!(#ty) });
    }
    let mut fields = TokenStream::new();
    let mut arguments = Vec::new();
    for input in inputs {
        if let Input::One(argument) = input {
            fields.extend(argument.plain_field());
            arguments.push(&**argument);
        }
    }
    let schema = quote!(<Self as ::chitin_sdk::Arguments>::schema());
    Ok(Expanded { fields, items: expand_object(ident, &arguments), schema, read: quote!(Self) })
}

fn check_signature(signature: &Signature) -> syn::Result<()> {
    if let Some(word) = &signature.asyncness {
        return Err(syn::Error::new_spanned(word, "a tool blocks: the host runs each call by itself"));
    }
    if !signature.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(&signature.generics, "a tool has no generic parameters"));
    }
    Ok(())
}

fn checked_name(ident: &Ident) -> syn::Result<String> {
    let name = ident.unraw().to_string();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if is_plain && name.len() <= NAME_BYTES_MAX {
        Ok(name)
    } else {
        let message = format!("the name of a tool is 1 to {NAME_BYTES_MAX} of a-z, 0-9 and underscore");
        Err(syn::Error::new_spanned(ident, message))
    }
}

fn checked_summary(function: &ItemFn) -> syn::Result<String> {
    let summary = docs::text(&function.attrs)?;
    let name = &function.sig.ident;
    let characters = summary.chars().count();
    if characters == 0 {
        let message = format!("the tool `{name}` needs a doc comment: it is what the model reads before it calls it");
        return Err(syn::Error::new_spanned(name, message));
    }
    if characters > SUMMARY_CHARACTERS_MAX {
        let message = format!(
            "the doc comment of the tool `{name}` has {characters} characters, and a model reads at most \
             {SUMMARY_CHARACTERS_MAX}; what stands below a heading does not count"
        );
        return Err(syn::Error::new_spanned(name, message));
    }
    Ok(summary)
}

fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    reference.mutability.is_none() && path.path.segments.last().is_some_and(|last| last.ident == "Context")
}

/// `spec.name` and `spec.summary` in `wit/tool`.
const NAME_BYTES_MAX: usize = 48;
const SUMMARY_CHARACTERS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(claims: TokenStream, function: TokenStream, expected: &str) {
        let said = expand(claims, function).map_or_else(|error| error.to_string(), |_| "expanded".to_owned());
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_function_with_comments_is_a_tool() {
        check(
            quote!(reads, open_world, title = "Look up"),
            quote!(
                #[doc = " Looks up."]
                fn find(
                    #[doc = " What."]
                    #[arg(min_length = 1)]
                    what: String,
                    ctx: &Context,
                ) -> String {
                    what
                }
            ),
            "expanded",
        );
        check(
            quote!(),
            quote!(
                #[doc = " Ticks."]
                fn tick() {}
            ),
            "expanded",
        );
        check(
            quote!(),
            quote!(
                #[doc = " Adds."]
                fn add(#[args] by: Amounts, ctx: &Context) {}
            ),
            "expanded",
        );
    }

    #[test]
    fn what_the_model_would_miss_is_refused() {
        check(
            quote!(),
            quote!(
                fn tick() {}
            ),
            "the tool `tick` needs a doc comment",
        );
        check(
            quote!(),
            quote!(
                #[doc = " # Errors"]
                fn tick() {}
            ),
            "the tool `tick` needs a doc comment",
        );
        let long = "x".repeat(SUMMARY_CHARACTERS_MAX + 1);
        check(quote!(), quote!(#[doc = #long] fn tick() {}), "the doc comment of the tool `tick` has 1025 characters");
        check(
            quote!(),
            quote!(
                #[doc = " Finds."]
                fn find(what: String) {}
            ),
            "argument `what` needs a doc comment",
        );
    }

    #[test]
    fn claims_are_of_known_words() {
        let tick = || {
            quote!(
                #[doc = " Ticks."]
                fn tick() {}
            )
        };
        check(quote!(reads, deletes), tick(), "`deletes` is no effect of a tool; there are reads, writes, destroys");
        check(quote!(reads, reads), tick(), "`reads` is claimed twice");
        check(quote!(title = ""), tick(), "a title has 1 to 128 characters");
        check(quote!(reads writes), tick(), "expected `,`");
    }

    #[test]
    fn what_no_call_could_give_is_refused() {
        let find = |input: TokenStream| quote!(#[doc = " Finds."] fn find(#input) {});
        check(quote!(), find(quote!(#[doc = " What."] what: &str)), "argument `what`: arguments are owned");
        check(quote!(), find(quote!(#[doc = " What."] (a, b): (u8, u8))), "give the argument a plain name");
        check(quote!(), find(quote!(&self)), "a tool is a function of its own");
        check(
            quote!(),
            find(quote!(#[doc = " What."] #[arg(length = 1)] what: String)),
            "an argument knows min_length",
        );
        check(quote!(), find(quote!(#[doc = " A."] #[arg(minimum = 1, minimum = 2)] a: u8)), "`minimum` is set twice");
        check(quote!(), find(quote!(#[doc = " A."] #[arg(default = 1)] a: Option<u8>)), "argument `a` has a default");
        check(quote!(), find(quote!(#[args] all: All, #[doc = " A."] a: u8)), "`#[args]` holds all arguments");
        check(
            quote!(),
            quote!(
                #[doc = " Finds."]
                async fn find() {}
            ),
            "a tool blocks",
        );
        check(
            quote!(),
            quote!(
                #[doc = " Finds."]
                fn find<T>() {}
            ),
            "a tool has no generic parameters",
        );
        check(
            quote!(),
            quote!(
                #[doc = " Finds."]
                fn Find() {}
            ),
            "the name of a tool is 1 to 48",
        );
    }
}
