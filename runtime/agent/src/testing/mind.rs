//! What does the memory of a test remember? Always the same, and it writes down what it was asked.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use chitin_ports::{Memory, Origin, PortError, Recall};

/// One question to the memory: the text, the scopes, the limit.
pub(crate) type Asked = (String, Vec<String>, usize);

/// A memory that answers every question alike.
pub(crate) struct Mind {
    found: Result<Vec<Memory>, PortError>,
    asked: Mutex<Vec<Asked>>,
}

impl Mind {
    pub(super) fn new(found: Result<Vec<Memory>, PortError>) -> Self {
        Self { found, asked: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Recall for Mind {
    async fn query(&self, text: &str, scopes: &[String], limit: usize) -> Result<Vec<Memory>, PortError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push((text.to_owned(), scopes.to_vec(), limit));
        self.found.clone()
    }

    async fn entries(&self, _: &[String], _: Option<&str>, _: usize) -> Result<Vec<Memory>, PortError> {
        self.found.clone()
    }

    async fn remember(&self, _: &str, _: &str, _: &Origin) -> Result<String, PortError> {
        Err(PortError("remember: nothing here writes".to_owned()))
    }

    async fn forget(&self, _: &str, _: &[String]) -> Result<bool, PortError> {
        Err(PortError("forget: nothing here writes".to_owned()))
    }
}
