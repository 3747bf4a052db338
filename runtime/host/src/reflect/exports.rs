//! Which functions does a component offer, and under which names? Its type goes in; functions, and what is left out with
//! the reason, come out.

use std::collections::BTreeMap;

use chitin_ports::{LeftOut, PackFunction};
use chitin_types::{Effects, FunctionName};
use wasmtime::{
    Engine,
    component::{
        Component, ComponentExportIndex,
        types::{ComponentFunc, ComponentItem},
    },
};

use super::{
    schema::of_params,
    shape::{Room, Shape},
};

/// Everything about a component's exports.
pub(crate) struct Reflected {
    /// What can be called, in the order of the component's type.
    pub(crate) functions: Vec<Function>,
    /// What cannot, and why.
    pub(crate) left_out: Vec<LeftOut>,
}

/// One function that can be called.
pub(crate) struct Function {
    pub(crate) described: PackFunction,
    pub(crate) signature: Signature,
}

/// How it is called.
pub(crate) struct Signature {
    pub(crate) export: ComponentExportIndex,
    pub(crate) params: Vec<(String, Shape)>,
    pub(crate) result: Option<Shape>,
}

// A function that JSON can call, before it has a name.
struct Found {
    interface: Option<String>,
    name: String,
    signature: Signature,
}

/// Looks at every export.
pub(crate) fn reflect(engine: &Engine, component: &Component) -> Reflected {
    let mut looked = Looked { component, found: vec![], left_out: vec![], unlisted: 0 };
    let ty = component.component_type();
    for (name, export) in ty.exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(_) if name == "init" => looked.leave(None, name, RESIDUE),
            ComponentItem::ComponentFunc(func) => looked.function(None, name, &func),
            ComponentItem::ComponentInstance(_) if name == "exports" => looked.leave(None, name, RESIDUE),
            ComponentItem::ComponentInstance(_) if name.starts_with("wasi:") => {
                looked.leave(None, name, "it is an interface of WASI, for whoever runs programs");
            }
            ComponentItem::ComponentInstance(instance) => {
                for (inner, export) in instance.exports(engine) {
                    match export.ty {
                        ComponentItem::ComponentFunc(func) => looked.function(Some(name), inner, &func),
                        other => looked.other(Some(name), inner, &other),
                    }
                }
            }
            other => looked.other(None, name, &other),
        }
    }
    looked.named()
}

struct Looked<'a> {
    component: &'a Component,
    found: Vec<Found>,
    left_out: Vec<LeftOut>,
    unlisted: usize,
}

impl Looked<'_> {
    fn function(&mut self, interface: Option<&str>, name: &str, func: &ComponentFunc) {
        match self.signature(interface, name, func) {
            Ok(signature) => {
                let interface = interface.map(str::to_owned);
                self.found.push(Found { interface, name: name.to_owned(), signature });
            }
            Err(reason) => self.leave(interface, name, reason),
        }
    }

    fn signature(&self, interface: Option<&str>, name: &str, func: &ComponentFunc) -> Result<Signature, &'static str> {
        if name.starts_with('[') {
            return Err("it is a method of a resource");
        }
        if name.starts_with("cabi_") {
            return Err(RESIDUE);
        }
        if func.async_() {
            return Err("it is asynchronous");
        }
        let mut room = Room::new();
        let mut params = Vec::new();
        for (name, ty) in func.params() {
            if name.len() > PARAM_BYTES_MAX {
                return Err("the name of a parameter is longer than 64 characters");
            }
            room.take(name)?;
            params.push((name.to_owned(), Shape::read(&ty, &mut room)?));
        }
        let mut results = func.results();
        let result = results.next().map(|ty| Shape::read(&ty, &mut room)).transpose()?;
        if results.next().is_some() {
            return Err("it has more than one result");
        }
        let within = match interface {
            Some(interface) => Some(self.component.get_export_index(None, interface).ok_or(UNREACHABLE)?),
            None => None,
        };
        let export = self.component.get_export_index(within.as_ref(), name).ok_or(UNREACHABLE)?;
        Ok(Signature { export, params, result })
    }

    // Types have nothing to call, and are no news to anybody; the rest is.
    fn other(&mut self, interface: Option<&str>, name: &str, item: &ComponentItem) {
        match item {
            ComponentItem::Type(_) | ComponentItem::Resource(_) | ComponentItem::ComponentFunc(_) => {}
            ComponentItem::ComponentInstance(_) => self.leave(interface, name, "it is an interface inside of another"),
            ComponentItem::Module(_) | ComponentItem::Component(_) | ComponentItem::CoreFunc(_) => {
                self.leave(interface, name, "it is a module and no function");
            }
        }
    }

    fn leave(&mut self, interface: Option<&str>, name: &str, reason: &str) {
        if self.left_out.len() == LEFT_OUT_MAX {
            self.unlisted += 1;
            return;
        }
        let export = interface.map_or_else(|| name.to_owned(), |interface| format!("{interface}#{name}"));
        self.left_out.push(LeftOut { export: shown(&export), reason: reason.to_owned() });
    }

    fn named(mut self) -> Reflected {
        let found = std::mem::take(&mut self.found);
        let exports: Vec<(Option<&str>, &str)> =
            found.iter().map(|found| (found.interface.as_deref(), found.name.as_str())).collect();
        let names = tool_names(&exports);
        let mut functions = Vec::new();
        for (found, name) in found.into_iter().zip(names) {
            let described = name.and_then(|name| described(&found, name));
            match described {
                Ok(_) if functions.len() == FUNCTIONS_MAX => {
                    self.leave(found.interface.as_deref(), &found.name, "the component offers 64 others before it");
                }
                Ok(described) => functions.push(Function { described, signature: found.signature }),
                Err(reason) => self.leave(found.interface.as_deref(), &found.name, reason),
            }
        }
        if self.unlisted > 0 {
            let reason = format!("and {} exports more", self.unlisted);
            self.left_out.push(LeftOut { export: "…".to_owned(), reason });
        }
        Reflected { functions, left_out: self.left_out }
    }
}

fn described(found: &Found, name: FunctionName) -> Result<PackFunction, &'static str> {
    let input_schema = of_params(&found.signature.params);
    if input_schema.to_string().len() > SCHEMA_BYTES_MAX {
        return Err("its schema is larger than 64 KiB");
    }
    let title = name.as_str().replace('_', " ");
    // Nothing is known about what it does, so everything is claimed for which nobody has to be asked.
    let effects = Effects { reads: true, writes: true, open_world: true, ..Effects::default() };
    Ok(PackFunction { name, title, summary: summary(found), input_schema, effects })
}

// The only thing that a component says about an ordinary function is its type.
fn summary(found: &Found) -> String {
    let params = found.signature.params.iter().map(|(name, shape)| format!("{name}: {}", shape.wit()));
    let params = params.collect::<Vec<_>>().join(", ");
    let result = found.signature.result.as_ref().map(|shape| format!(" -> {}", shape.wit())).unwrap_or_default();
    let interface = found.interface.as_ref().map(|interface| format!(" (of {interface})")).unwrap_or_default();
    let whole = format!("{}({params}){result}{interface}", found.name);
    if whole.chars().count() <= SUMMARY_CHARS_MAX {
        return whole;
    }
    let cut: String = whole.chars().take(SUMMARY_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

/// The name of each export as a tool. The last word of the interface stands before it only where two would be called the
/// same; where even that does not tell them apart, none of them has a name.
fn tool_names(exports: &[(Option<&str>, &str)]) -> Vec<Result<FunctionName, &'static str>> {
    let short: Vec<String> = exports.iter().map(|(_, name)| plain(name)).collect();
    let counts = counted(&short);
    let full: Vec<String> = exports
        .iter()
        .zip(&short)
        .map(|((interface, _), name)| match interface {
            Some(interface) if counts.get(name.as_str()).is_some_and(|count| *count > 1) => {
                format!("{}_{name}", plain(last_word(interface)))
            }
            Some(_) | None => name.clone(),
        })
        .collect();
    let counts = counted(&full);
    let name = |name: &String| {
        if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
            return Err("another export would be called the same");
        }
        FunctionName::parse(name.clone())
            .map_err(|_| "its name is longer than 48 characters or has others than a-z, 0-9")
    };
    full.iter().map(name).collect()
}

fn counted(names: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.as_str()).or_insert(0) += 1;
    }
    counts
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

// `words` of `demo:text/words@0.1.0`.
fn last_word(interface: &str) -> &str {
    let path = interface.split_once('@').map_or(interface, |(path, _)| path);
    path.rsplit_once('/').map_or(path, |(_, word)| word)
}

// A name is what its publisher chose; the longest that is shown whole fits in a line.
fn shown(export: &str) -> String {
    if export.chars().count() <= EXPORT_CHARS_MAX {
        return export.to_owned();
    }
    let cut: String = export.chars().take(EXPORT_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

const RESIDUE: &str = "it is left over from the toolchain";
const UNREACHABLE: &str = "it cannot be found by its name";
/// Functions of one component; more would crowd out every other tool of the model's list.
const FUNCTIONS_MAX: usize = 64;
/// Exports that are listed as left out; a component may have a hundred thousand, and nobody reads them.
const LEFT_OUT_MAX: usize = 200;
/// Longest name of an export that is shown whole.
const EXPORT_CHARS_MAX: usize = 200;
/// Longest name of a property that providers accept.
const PARAM_BYTES_MAX: usize = 64;
/// Longest summary in characters; the model reads every summary in every turn.
const SUMMARY_CHARS_MAX: usize = 1_024;
/// Largest schema in bytes; the model reads every schema in every turn.
const SCHEMA_BYTES_MAX: usize = 64 * 1_024;

#[cfg(test)]
#[path = "exports_tests.rs"]
mod tests;
