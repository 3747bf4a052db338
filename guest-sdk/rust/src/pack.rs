//! How a tool pack becomes the exports of a component: a trait to implement, an adapter, and the macro that ties them.

use std::marker::PhantomData;

use crate::bindings::exports::chitin::tool::guest::Guest;
use crate::{Call, Failure, Part, Tool};

/// One or more tools in one component.
pub trait ToolPack {
    /// What the pack offers. Asked once at install, in an instance that is granted nothing: no effects here.
    fn tools() -> Vec<Tool>;

    /// Runs one tool. The instance is fresh: nothing is left of an earlier call, and nothing will be kept.
    ///
    /// # Errors
    ///
    /// What the model and the user should know about a call that gave no result.
    fn invoke(call: Call) -> Result<Vec<Part>, Failure>;
}

/// Exports a type that implements [`ToolPack`] as this component's tools; once in each component.
///
/// On other targets it only names the functions, so that the parts of a guest that need no host are tested natively.
#[macro_export]
macro_rules! export_pack {
    ($pack:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type ExportedPack = $crate::PackExport<$pack>;
    $crate::bindings::export_guest!(ExportedPack with_types_in $crate::bindings);
        };
        #[cfg(not(target_arch = "wasm32"))]
        const _: (fn() -> Vec<$crate::Tool>, fn($crate::Call) -> Result<Vec<$crate::Part>, $crate::Failure>) =
            (<$pack as $crate::ToolPack>::tools, <$pack as $crate::ToolPack>::invoke);
    };
}

/// Carries a pack to the generated exports. Named only by [`export_pack!`].
pub struct PackExport<P>(PhantomData<P>);

impl<P: ToolPack> Guest for PackExport<P> {
    fn describe() -> Vec<Tool> {
        P::tools()
    }

    fn invoke(req: Call) -> Result<Vec<Part>, Failure> {
        P::invoke(req)
    }
}
