//! What the code that the macros write needs, and no author names.

pub use {serde, serde_json};

use serde::{Deserialize, Deserializer};

use crate::Parameter;

/// A field that is read from the arguments of a call. With it between, the compiler says of a type that will not do that it
/// cannot be an argument, and not that it lacks something of serde.
pub struct Read<T>(pub T);

impl<'de, T: Parameter> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// Whether no name stands twice, for a check by the compiler: of two tools with one name, only the first would be called.
pub const fn are_distinct(mut names: &[&str]) -> bool {
    while let [first, others @ ..] = names {
        let mut left = others;
        while let [other, rest @ ..] = left {
            if are_same(first.as_bytes(), other.as_bytes()) {
                return false;
            }
            left = rest;
        }
        names = others;
    }
    true
}

const fn are_same(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([first, rest @ ..], [first_of_other, rest_of_other @ ..]) = (one, other) {
        if *first != *first_of_other {
            return false;
        }
        (one, other) = (rest, rest_of_other);
    }
    one.is_empty() && other.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: bool) {
        assert_eq!(are_distinct(names), expected, "{names:?}");
    }

    #[test]
    fn a_name_that_stands_twice_is_found() {
        check(&[], true);
        check(&["a"], true);
        check(&["a", "b", "ab", "ba"], true);
        check(&["a", "b", "a"], false);
        check(&["b", "ab", "ab"], false);
    }
}
