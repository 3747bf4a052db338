//! What is one argument? A parameter or a field goes in: its name, type, comment and bounds. Out come its line of the
//! schema and the field that it is read into.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Type};

use crate::docs;

pub(crate) struct Argument {
    pub(crate) ident: Ident,
    ty: Type,
    doc: String,
    name: String,
    /// Methods of `Schema` and what they are given, in the order of [`BOUNDS`].
    bounds: Vec<(&'static str, Expr)>,
    default: Option<Expr>,
}

impl Argument {
    /// # Errors
    ///
    /// It has no comment, an unknown or double bound, or a type that cannot be an argument whatever its traits.
    pub(crate) fn read(ident: &Ident, ty: &Type, attributes: &[Attribute]) -> syn::Result<Self> {
        let name = ident.unraw().to_string();
        if let Type::Reference(_) = ty {
            let message =
                format!("argument `{name}`: arguments are owned; write `String` for `&str`, `Vec<T>` for `&[T]`");
            return Err(syn::Error::new_spanned(ty, message));
        }
        let doc = docs::text(attributes)?;
        if doc.is_empty() {
            let message = format!("argument `{name}` needs a doc comment above it: the model reads what it means");
            return Err(syn::Error::new_spanned(ident, message));
        }
        let mut read = Self { ident: ident.clone(), ty: ty.clone(), doc, name, bounds: Vec::new(), default: None };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| read.set(&meta))?;
        }
        read.bounds.sort_by_key(|(key, _)| BOUNDS.iter().position(|known| known == key));
        match &read.default {
            Some(default) if is_option(ty) => {
                let message =
                    format!("argument `{}` has a default, so it is never left out: drop the `Option`", read.name);
                Err(syn::Error::new_spanned(default, message))
            }
            _ => Ok(read),
        }
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("name") {
            self.name = meta.value()?.parse::<LitStr>()?.value();
            return Ok(());
        }
        if meta.path.is_ident("default") {
            return match self.default.replace(meta.value()?.parse()?) {
                Some(_) => Err(meta.error("there are two defaults")),
                None => Ok(()),
            };
        }
        let Some(key) = BOUNDS.into_iter().find(|key| meta.path.is_ident(key)) else {
            return Err(meta.error(format!("an argument knows {}, default and name", BOUNDS.join(", "))));
        };
        if self.bounds.iter().any(|(known, _)| *known == key) {
            return Err(meta.error(format!("`{key}` is set twice")));
        }
        self.bounds.push((key, meta.value()?.parse()?));
        Ok(())
    }

    /// A call on an `ObjectSchema`.
    fn property(&self) -> TokenStream {
        let Self { ty, doc, name, .. } = self;
        let bounds = self.bounds.iter().map(|(key, given)| {
            let method = format_ident!("{key}");
            // A list of choices is an array, whose length is nobody's business.
            if *key == CHOICES { quote!(.#method(&#given)) } else { quote!(.#method(#given)) }
        });
        let schema = quote!(<#ty as ::chitin_sdk::Parameter>::schema(#doc) #(#bounds)*);
        if let Some(function) = self.default_function() {
            quote!(.optional(#name, #schema.default(#function())))
        } else {
            quote!(.argument::<#ty>(#name, #schema))
        }
    }

    /// The field without anything for serde.
    pub(crate) fn plain_field(&self) -> TokenStream {
        let Self { ident, ty, .. } = self;
        quote!(#ident: #ty,)
    }

    fn field(&self) -> TokenStream {
        let Self { ident, ty, name, .. } = self;
        let default = self.default_function().map(|function| {
            let read = format!("{function}_read");
            quote!(, default = #read)
        });
        // The span is where the compiler points when the type will not do.
        let read = quote_spanned!(ty.span()=> ::chitin_sdk::expansion::Read<#ty>);
        quote!(#[serde(rename = #name #default)] #ident: #read)
    }

    fn default_function(&self) -> Option<Ident> {
        self.default.as_ref().map(|_| format_ident!("__default_{}", self.ident.unraw()))
    }

    fn default_item(&self) -> Option<TokenStream> {
        let (function, ty) = (self.default_function()?, &self.ty);
        let value = match self.default.as_ref()? {
            text @ Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => quote!(::core::convert::From::from(#text)),
            value => quote!(#value),
        };
        let read = format_ident!("{function}_read");
        Some(quote! {
            fn #function() -> #ty { #value }
            fn #read() -> ::chitin_sdk::expansion::Read<#ty> { ::chitin_sdk::expansion::Read(#function()) }
        })
    }
}

/// Lets a struct with these fields be read from the arguments of a call, and gives its schema.
pub(crate) fn expand_object(ident: &Ident, arguments: &[&Argument]) -> TokenStream {
    let fields = arguments.iter().map(|argument| argument.field());
    let defaults = arguments.iter().filter_map(|argument| argument.default_item());
    let properties = arguments.iter().map(|argument| argument.property());
    let names: Vec<&Ident> = arguments.iter().map(|argument| &argument.ident).collect();
    // Read into a twin: a derive cannot add an attribute to the type that it stands on.
    quote! {
        #[derive(::chitin_sdk::expansion::serde::Deserialize)]
        #[serde(crate = "::chitin_sdk::expansion::serde", deny_unknown_fields, expecting = "an object")]
        struct __Arguments { #(#fields),* }
        #(#defaults)*
        impl<'de> ::chitin_sdk::expansion::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::chitin_sdk::expansion::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let __Arguments { #(#names),* } = ::chitin_sdk::expansion::serde::Deserialize::deserialize(deserializer)?;
                ::core::result::Result::Ok(Self { #(#names: #names.0),* })
            }
        }
        impl ::chitin_sdk::Arguments for #ident {
            fn schema() -> ::chitin_sdk::ObjectSchema {
                ::chitin_sdk::Schema::object() #(#properties)*
            }
        }
    }
}

/// By its spelling: an alias is not seen through, and its default is then simply never needed.
fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// What `#[arg(…)]` takes besides `name` and `default`, in the order in which a schema shows them.
const BOUNDS: [&str; 5] = ["min_length", "max_length", "minimum", "maximum", CHOICES];
const CHOICES: &str = "choices";
