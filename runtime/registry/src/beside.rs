//! Which tools are offered without being installed? Those that are part of the program, and unsigned components that a
//! person tries out in this process only.
//!
//! Both are called through the same policy as every other tool. An unsigned one lives in the namespace `dev`, which no
//! signed tool can have; it gets directories and requests as its grant says, and never a secret or a store.

use std::sync::{Arc, Mutex, PoisonError};

use chitin_policy::{Accept, Grant, Pin};
use chitin_ports::{Installed, PackDescription};
use chitin_types::{Capabilities, Digest, ToolName, ToolOutcome, ToolSpec, WireName};

use crate::{
    Catalog, RegistryError, Said,
    catalog::{denied, spec},
    review::pinned,
};

/// A function that is part of the program.
#[derive(Debug, Clone)]
pub struct NativeTool {
    /// What it is called and takes.
    pub spec: ToolSpec,
    /// What stands for its code in grants and permits, since there is no component to hash.
    pub identity: Digest,
    /// What it asks for; the grant gives what of it is given.
    pub requests: Capabilities,
}

/// An unsigned component that a person tries out.
#[derive(Debug)]
pub struct DevTool {
    /// What it is called, as the name of its file without the suffix.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it offers.
    pub described: PackDescription,
    /// What the person gives it; nothing when absent.
    pub grant: Option<Grant>,
}

/// Whether a tool runs without a signature, which each of its results has to say.
pub fn is_unsigned(tool: &ToolName) -> bool {
    tool.publisher() == DEV
}

/// Everything that one process offers beside what is installed.
#[derive(Default)]
pub(crate) struct Beside {
    native: Vec<Offer>,
    dev: Mutex<Vec<Dev>>,
}

/// One function.
#[derive(Clone)]
pub(crate) struct Offer {
    spec: ToolSpec,
    identity: Digest,
    requests: Capabilities,
    // Given for this process; without it, the grant file of the tool holds.
    grant: Option<Grant>,
}

struct Dev {
    component: Digest,
    bytes: Arc<Vec<u8>>,
    offers: Vec<Offer>,
}

impl Catalog {
    /// The same catalog, offering these functions of the program, too.
    #[must_use]
    pub fn with_native(mut self, tools: Vec<NativeTool>) -> Self {
        let offer = |NativeTool { spec, identity, requests }| Offer { spec, identity, requests, grant: None };
        self.beside.native.extend(tools.into_iter().map(offer));
        self
    }

    /// Offers an unsigned component as `dev/<name>` until this process ends.
    ///
    /// # Errors
    /// What it says about itself cannot be offered, or its name is taken.
    pub fn add_dev(&self, dev: DevTool) -> Result<ToolName, RegistryError> {
        let tool = dev_name(&dev.name)?;
        let functions = pinned(&tool, &dev.described, &[])?;
        if functions.is_empty() {
            let said = Said::new(format!("{} has no functions to try out", dev.name));
            return Err(RegistryError::Unusable(said.help("a channel has to be signed and installed")));
        }
        let short = tool.short();
        let installed = self.tools()?.entries.iter().any(|entry| entry.name.short() == short);
        if installed || self.beside.has(short) {
            let said = Said::new(format!("another tool is offered to models as {short}__… already"));
            return Err(RegistryError::Denied(said.help("rename the file")));
        }
        let component = Digest::of(&dev.bytes);
        let grant = dev_grant(&tool, component, dev.grant);
        let requests = Capabilities { kv: None, recall: None, ..grant.capabilities() };
        let offers = functions.iter().map(|function| {
            let mut spec = spec(&tool, function)?;
            spec.summary = format!("[unsigned] {}", spec.summary).chars().take(SUMMARY_CHARS_MAX).collect();
            Ok::<_, RegistryError>(Offer {
                spec,
                identity: component,
                requests: requests.clone(),
                grant: Some(grant.clone()),
            })
        });
        let offers = offers.collect::<Result<Vec<_>, _>>()?;
        self.beside.dev().push(Dev { component, bytes: Arc::new(dev.bytes), offers });
        Ok(tool)
    }

    /// The function of this wire name, if it is one that is not installed.
    pub(crate) fn find_beside(&self, wire_name: &str) -> Option<Result<Installed, ToolOutcome>> {
        let Offer { spec, identity, requests, grant } = self.beside.find(wire_name)?;
        let grants = match grant {
            Some(grant) => self.within(requests.clone(), grant, requests),
            None => self.granted(&spec.tool, identity).and_then(|grant| self.within(requests.clone(), grant, requests)),
        };
        let installed = grants.map(|grants| Installed { spec, component: identity, grants });
        Some(installed.map_err(|error| denied(&error)))
    }
}

impl Beside {
    /// Every function.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.offers().into_iter().map(|offer| offer.spec).collect()
    }

    /// Whether a tool of this name, as models see it, is among them.
    pub(crate) fn has(&self, short: &str) -> bool {
        self.offers().iter().any(|offer| offer.spec.tool.short() == short)
    }

    /// The tools of the program, by name.
    pub(crate) fn native(&self) -> impl Iterator<Item = &ToolName> {
        self.native.iter().map(|offer| &offer.spec.tool)
    }

    /// The bytes of an unsigned component that a person named in this process.
    pub(crate) fn bytes(&self, component: &Digest) -> Option<Arc<Vec<u8>>> {
        self.dev().iter().find(|dev| dev.component == *component).map(|dev| Arc::clone(&dev.bytes))
    }

    fn find(&self, wire_name: &str) -> Option<Offer> {
        let named = |offer: &Offer| {
            WireName::of(&offer.spec.tool, &offer.spec.function).is_ok_and(|name| name.as_str() == wire_name)
        };
        self.offers().into_iter().find(named)
    }

    fn offers(&self) -> Vec<Offer> {
        let dev = self.dev();
        self.native.iter().chain(dev.iter().flat_map(|dev| &dev.offers)).cloned().collect()
    }

    fn dev(&self) -> std::sync::MutexGuard<'_, Vec<Dev>> {
        self.dev.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// A file name has underscores and capitals where a tool's name has none.
fn dev_name(file: &str) -> Result<ToolName, RegistryError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = file.chars().map(plain).take(NAME_CHARS_MAX).collect();
    ToolName::parse(format!("{DEV}/{}", name.trim_matches('-'))).map_err(|_| {
        let said = Said::new(format!("{file:?} cannot be the name of a tool"));
        RegistryError::Usage(said.help("rename the file: a letter first, then letters, digits and hyphens"))
    })
}

// Whatever the file is bound to, it is given to these bytes and to no others.
fn dev_grant(tool: &ToolName, component: Digest, given: Option<Grant>) -> Grant {
    let mut grant = given.unwrap_or_else(|| Grant::nothing(tool.clone(), component));
    grant.tool = tool.clone();
    grant.pin = Some(Pin { component, accept: Accept::Exact });
    for rule in &mut grant.http {
        rule.secret = None;
        rule.inject = None;
    }
    grant.kv = None;
    grant.recall = None;
    grant
}

/// The publisher of everything that has none. No signed tool can be of it.
pub(crate) const DEV: &str = "dev";
/// Half of a tool's name.
const NAME_CHARS_MAX: usize = 32;
/// As for every summary; the mark comes first, so that it is never what is cut.
const SUMMARY_CHARS_MAX: usize = 1_024;
