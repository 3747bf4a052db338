//! What is a tool to the model, and what is a call of it? Plain data, no behaviour beyond naming.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FunctionName, NameError, ToolName, WireName};

/// What a function claims to do to the world. Claims never permit; they only make the host ask a person more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "mirrors the WIT flags `effects`, one field per flag")]
pub struct Effects {
    /// Looks at something.
    pub reads: bool,
    /// Changes something.
    pub writes: bool,
    /// Removes something that cannot be brought back.
    pub destroys: bool,
    /// Talks to parties outside the machine.
    pub open_world: bool,
    /// The same arguments twice have the effect of once.
    pub idempotent: bool,
    /// Polling: an identical call in one turn is no mistake.
    pub repeatable: bool,
    /// Spends money.
    pub pays: bool,
}

/// One function of an installed tool, as its pinned `describe` gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The pack it belongs to.
    pub tool: ToolName,
    /// The function inside the pack.
    pub function: FunctionName,
    /// A short display name.
    pub title: String,
    /// What the model reads; at most 1,024 characters.
    pub summary: String,
    /// JSON Schema 2020-12 of an object.
    pub input_schema: Value,
    /// What it claims to do.
    pub effects: Effects,
}

impl ToolSpec {
    /// The name offered to a model.
    ///
    /// # Errors
    /// Tool and function together are longer than providers accept; the install refuses such a pack.
    pub fn wire_name(&self) -> Result<WireName, NameError> {
        WireName::of(&self.tool, &self.function)
    }
}

/// A call as a model asked for it: nothing about it is checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, by which the result is matched; `call_<index>` when the provider gave none.
    pub id: String,
    /// The wire name as the model spelled it; it may name no tool.
    pub name: String,
    /// The arguments as text; they may be no JSON.
    pub arguments: String,
}
