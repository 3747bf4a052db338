//! How functions become the exports of a component: what `#[tool]` makes of each, and the macro that gathers them.

use crate::{Call, Failure, Part, Tool};

/// A function marked [`#[tool]`](crate::tool): implemented by a type of its name, never by hand.
pub trait ToolFunction {
    /// Its name, unique in a component.
    const NAME: &'static str;

    /// What the model is told about it.
    fn tool() -> Tool;

    /// Reads the arguments, calls the function, and gives its result as parts.
    ///
    /// # Errors
    ///
    /// `invalid-input` for arguments that do not fit, and what the function failed with.
    fn call(call: Call) -> Result<Vec<Part>, Failure>;
}

/// Exports functions marked [`#[tool]`](crate::tool) as this component's tools, in this order; once in each component.
#[macro_export]
macro_rules! export_tools {
    ($($tool:ty),+ $(,)?) => {
        const _: () = {
            ::core::assert!(
                $crate::expansion::are_distinct(&[$(<$tool as $crate::ToolFunction>::NAME),+]),
                "two of these tools have the same name"
            );

            struct Tools;

            impl $crate::ToolPack for Tools {
                fn tools() -> ::std::vec::Vec<$crate::Tool> {
                    ::std::vec![$(<$tool as $crate::ToolFunction>::tool()),+]
                }

                fn invoke(
                    call: $crate::Call,
                ) -> ::core::result::Result<::std::vec::Vec<$crate::Part>, $crate::Failure> {
                    match call.tool.as_str() {
                        $(<$tool as $crate::ToolFunction>::NAME => <$tool as $crate::ToolFunction>::call(call),)+
                        _ => ::core::result::Result::Err(call.unknown_tool()),
                    }
                }
            }

            $crate::export_pack!(Tools);
        };
    };
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;
