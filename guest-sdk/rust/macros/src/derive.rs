//! What becomes of `#[derive(Argument)]`? A struct with named fields is an object, an enum without data a fixed choice.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Data, DataEnum, DataStruct, DeriveInput, Fields, Ident, LitStr, Variant};

use crate::argument::{Argument, expand_object};
use crate::docs;

pub(crate) fn expand(item: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(&input.generics, "an argument has no generic parameters"));
    }
    let doc = docs::text(&input.attrs)?;
    let items = match &input.data {
        Data::Struct(item) => object(&input.ident, &doc, item)?,
        Data::Enum(item) => choice(&input.ident, &doc, item)?,
        Data::Union(_) => return Err(syn::Error::new_spanned(&input.ident, "a union cannot be an argument")),
    };
    Ok(quote!(const _: () = { #items };))
}

fn object(ident: &Ident, doc: &str, item: &DataStruct) -> syn::Result<TokenStream> {
    let Fields::Named(fields) = &item.fields else {
        return Err(syn::Error::new_spanned(ident, "an argument is a struct with named fields"));
    };
    let read = fields.named.iter().map(|field| {
        let name = field.ident.as_ref().ok_or_else(|| syn::Error::new_spanned(field, "a field needs a name"))?;
        Argument::read(name, &field.ty, &field.attrs)
    });
    let arguments = read.collect::<syn::Result<Vec<_>>>()?;
    let object = expand_object(ident, &arguments.iter().collect::<Vec<_>>());
    Ok(quote! {
        #object
        impl ::chitin_sdk::Argument for #ident {
            fn schema(description: &str) -> ::chitin_sdk::Schema {
                let object = <Self as ::chitin_sdk::Arguments>::schema();
                object.describe(if description.is_empty() { #doc } else { description }).nested()
            }
        }
    })
}

fn choice(ident: &Ident, doc: &str, item: &DataEnum) -> syn::Result<TokenStream> {
    if item.variants.is_empty() {
        return Err(syn::Error::new_spanned(ident, "a choice needs something to choose from"));
    }
    let mut texts = Vec::new();
    let mut meanings = Vec::new();
    for variant in &item.variants {
        let text = choice_text(variant)?;
        let meaning = docs::text(&variant.attrs)?;
        if !meaning.is_empty() {
            meanings.push(format!("`{text}`: {meaning}"));
        }
        texts.push(text);
    }
    let meanings = meanings.join(" ");
    let variants: Vec<&Ident> = item.variants.iter().map(|variant| &variant.ident).collect();
    Ok(quote! {
        #[derive(::chitin_sdk::expansion::serde::Deserialize)]
        #[serde(crate = "::chitin_sdk::expansion::serde")]
        enum __Choice { #(#[serde(rename = #texts)] #variants),* }
        impl<'de> ::chitin_sdk::expansion::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::chitin_sdk::expansion::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                ::core::result::Result::Ok(
                    match ::chitin_sdk::expansion::serde::Deserialize::deserialize(deserializer)? {
                        #(__Choice::#variants => Self::#variants),*
                    }
                )
            }
        }
        impl ::chitin_sdk::Argument for #ident {
            fn schema(description: &str) -> ::chitin_sdk::Schema {
                let own = if description.is_empty() { #doc } else { description };
                let description = if #meanings.is_empty() { own.to_owned() } else { ::std::format!("{own} {}", #meanings) };
                ::chitin_sdk::Schema::choice(description.trim(), &[#(#texts),*])
            }
        }
        // The form in which a schema shows it as a default.
        impl ::core::convert::From<#ident> for ::chitin_sdk::expansion::serde_json::Value {
            fn from(chosen: #ident) -> Self {
                Self::from(match chosen { #(#ident::#variants => #texts),* })
            }
        }
    })
}

fn choice_text(variant: &Variant) -> syn::Result<String> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = "a choice is a plain name; what belongs to it is an argument of its own";
        return Err(syn::Error::new_spanned(variant, message));
    }
    let mut text = snake_case(&variant.ident.unraw().to_string());
    let is_arg = |attribute: &&Attribute| attribute.path().is_ident("arg");
    for attribute in variant.attrs.iter().filter(is_arg) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("a choice knows only `name`"));
            }
            text = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(text)
}

/// `ReadOnly` becomes `read_only`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(item: TokenStream, expected: &str) {
        let said = expand(item).map_or_else(|error| error.to_string(), |_| "expanded".to_owned());
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn what_cannot_be_an_argument_is_refused_with_a_reason() {
        check(
            quote!(
                struct Range {
                    #[doc = " First."]
                    first: u32,
                }
            ),
            "expanded",
        );
        check(
            quote!(
                struct Range {
                    first: u32,
                }
            ),
            "argument `first` needs a doc comment",
        );
        check(
            quote!(
                struct Range(u32);
            ),
            "an argument is a struct with named fields",
        );
        check(
            quote!(
                struct Range<T> {
                    #[doc = " First."]
                    first: T,
                }
            ),
            "an argument has no generic parameters",
        );
        check(
            quote!(
                enum Sort {
                    Newest,
                    #[arg(name = "old")]
                    Oldest,
                }
            ),
            "expanded",
        );
        check(
            quote!(
                enum Sort {
                    By(String),
                }
            ),
            "a choice is a plain name",
        );
        check(
            quote!(
                enum Sort {}
            ),
            "a choice needs something to choose from",
        );
        check(
            quote!(
                enum Sort {
                    #[arg(minimum = 1)]
                    Newest,
                }
            ),
            "a choice knows only `name`",
        );
    }
}
