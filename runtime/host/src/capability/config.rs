//! Which settings may a guest read? Those of `[config]` in its own grant file, and no others.
//!
//! Grant: `[config]`, written by the user; without it there are no settings, which is no refusal. Linked:
//! `wasi:config/store` in two versions that differ in name only. For one call: nothing. Secrets are never settings.

use wasmtime::component::{HasSelf, Linker};

use self::{draft::wasi::config::store as draft_store, rc1::wasi::config::store as rc1_store};
use crate::state::CallState;

/// The release candidate.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod rc1 {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world config-rc { import wasi:config/store@0.2.0-rc.1; }
        ",
        path: "../../wit/deps/config-0.2.0-rc.1.wit",
        world: "chitin:capability/config-rc",
        imports: { default: async | trappable },
    });
}

/// The draft that Spin speaks.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod draft {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world config-draft { import wasi:config/store@0.2.0-draft-2024-09-27; }
        ",
        path: "../../wit/deps/config-0.2.0-draft-2024-09-27.wit",
        world: "chitin:capability/config-draft",
        imports: { default: async | trappable },
    });
}

pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    rc1_store::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    draft_store::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

impl CallState {
    fn setting(&self, key: &str) -> wasmtime::Result<Option<String>> {
        self.call.charge()?;
        Ok(self.call.grants.config().get(key).cloned())
    }

    fn settings(&self) -> wasmtime::Result<Vec<(String, String)>> {
        self.call.charge()?;
        let config = self.call.grants.config();
        Ok(config.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

impl rc1_store::Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, rc1_store::Error>> {
        self.setting(&key).map(Ok)
    }

    async fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, rc1_store::Error>> {
        self.settings().map(Ok)
    }
}

impl draft_store::Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, draft_store::Error>> {
        self.setting(&key).map(Ok)
    }

    async fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, draft_store::Error>> {
        self.settings().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::capability::scene::Scene;

    #[test]
    fn both_versions_give_the_settings_of_the_grant_and_nothing_else() {
        let mut scene = Scene::new(|grant| {
            grant.config.insert("city".to_owned(), "Oslo".to_owned());
        });
        let all = vec![("city".to_owned(), "Oslo".to_owned())];
        let check = |found: Option<String>, expected: Option<&str>| assert_eq!(found.as_deref(), expected);
        let state = &mut scene.state;
        check(block_on(rc1_store::Host::get(state, "city".to_owned())).unwrap().unwrap(), Some("Oslo"));
        check(block_on(draft_store::Host::get(state, "city".to_owned())).unwrap().unwrap(), Some("Oslo"));
        check(block_on(rc1_store::Host::get(state, "PATH".to_owned())).unwrap().unwrap(), None);
        check(block_on(draft_store::Host::get(state, "PATH".to_owned())).unwrap().unwrap(), None);
        assert_eq!(block_on(rc1_store::Host::get_all(state)).unwrap().unwrap(), all);
        assert_eq!(block_on(draft_store::Host::get_all(state)).unwrap().unwrap(), all);
        let mut bare = Scene::new(|_| ());
        assert_eq!(block_on(rc1_store::Host::get_all(&mut bare.state)).unwrap().unwrap(), vec![]);
    }

    #[test]
    fn asking_for_settings_counts_as_a_call_into_the_host() {
        let mut scene = Scene::new(|grant| grant.limits.host_calls = 3);
        let asked =
            (0..10).take_while(|_| block_on(rc1_store::Host::get(&mut scene.state, "x".to_owned())).is_ok()).count();
        assert_eq!(asked, 3);
    }
}
