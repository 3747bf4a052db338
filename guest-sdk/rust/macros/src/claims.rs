//! What does `#[tool(…)]` claim? Effects by their names in `wit/tool`, and the title that people see.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Token};

#[derive(Default)]
pub(crate) struct Claims {
    effects: Vec<Ident>,
    title: Option<LitStr>,
}

impl Claims {
    /// The title; that of a function without one is its name in words.
    pub(crate) fn title(&self, function: &str) -> String {
        self.title.as_ref().map_or_else(|| in_words(function), LitStr::value)
    }

    /// An expression of the type `Effects`.
    pub(crate) fn effects(&self) -> TokenStream {
        let flags = self.effects.iter().map(|effect| {
            let flag = Ident::new(&effect.to_string().to_uppercase(), effect.span());
            quote!(| ::chitin_sdk::Effects::#flag)
        });
        quote!(::chitin_sdk::Effects::empty() #(#flags)*)
    }
}

impl Parse for Claims {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut claims = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if word == "title" {
                input.parse::<Token![=]>()?;
                claims.set_title(input.parse()?)?;
            } else {
                claims.add_effect(word)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(claims)
    }
}

impl Claims {
    fn set_title(&mut self, title: LitStr) -> syn::Result<()> {
        let characters = title.value().chars().count();
        if characters == 0 || characters > TITLE_CHARACTERS_MAX {
            return Err(syn::Error::new_spanned(title, format!("a title has 1 to {TITLE_CHARACTERS_MAX} characters")));
        }
        match self.title.replace(title) {
            Some(earlier) => Err(syn::Error::new_spanned(earlier, "there are two titles")),
            None => Ok(()),
        }
    }

    fn add_effect(&mut self, word: Ident) -> syn::Result<()> {
        if !EFFECTS.contains(&word.to_string().as_str()) {
            let message =
                format!("`{word}` is no effect of a tool; there are {}, and `title = \"…\"`", EFFECTS.join(", "));
            return Err(syn::Error::new_spanned(word, message));
        }
        if self.effects.contains(&word) {
            return Err(syn::Error::new_spanned(&word, format!("`{word}` is claimed twice")));
        }
        self.effects.push(word);
        Ok(())
    }
}

/// `file_read` becomes "File read".
fn in_words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The flags of `effects` in `wit/tool`, as Rust spells them.
const EFFECTS: [&str; 7] = ["reads", "writes", "destroys", "open_world", "idempotent", "repeatable", "pays"];
/// What an install accepts.
const TITLE_CHARACTERS_MAX: usize = 128;
