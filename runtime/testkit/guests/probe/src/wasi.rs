//! What drafts of WASI does the probe speak? Each version of `wasi:keyvalue`, `wasi:config` and `wasi:logging` on its own.

#![expect(clippy::pedantic, reason = "generated")]

/// `wasi:keyvalue` 0.2.0-draft.
pub(crate) mod keyvalue_draft {
    wit_bindgen::generate!({
        inline: "
            package test:probe-keyvalue-draft;
            world probe {
                import wasi:keyvalue/store@0.2.0-draft;
                import wasi:keyvalue/atomics@0.2.0-draft;
                import wasi:keyvalue/batch@0.2.0-draft;
            }
        ",
        path: ["../../../../wit/deps/keyvalue-0.2.0-draft.wit"],
        world: "test:probe-keyvalue-draft/probe",
        generate_all,
    });
}

/// `wasi:keyvalue` 0.2.0-draft2.
pub(crate) mod keyvalue_draft2 {
    wit_bindgen::generate!({
        inline: "
            package test:probe-keyvalue-draft2;
            world probe {
                import wasi:keyvalue/store@0.2.0-draft2;
                import wasi:keyvalue/atomics@0.2.0-draft2;
                import wasi:keyvalue/batch@0.2.0-draft2;
            }
        ",
        path: ["../../../../wit/deps/keyvalue-0.2.0-draft2.wit"],
        world: "test:probe-keyvalue-draft2/probe",
        generate_all,
    });
}

/// `wasi:config` 0.2.0-rc.1.
pub(crate) mod config_rc {
    wit_bindgen::generate!({
        inline: "
            package test:probe-config-rc;
            world probe { import wasi:config/store@0.2.0-rc.1; }
        ",
        path: ["../../../../wit/deps/config-0.2.0-rc.1.wit"],
        world: "test:probe-config-rc/probe",
        generate_all,
    });
}

/// `wasi:config` 0.2.0-draft-2024-09-27.
pub(crate) mod config_draft {
    wit_bindgen::generate!({
        inline: "
            package test:probe-config-draft;
            world probe { import wasi:config/store@0.2.0-draft-2024-09-27; }
        ",
        path: ["../../../../wit/deps/config-0.2.0-draft-2024-09-27.wit"],
        world: "test:probe-config-draft/probe",
        generate_all,
    });
}

/// `wasi:logging` 0.1.0-draft.
pub(crate) mod logging_draft {
    wit_bindgen::generate!({
        inline: "
            package test:probe-logging-draft;
            world probe { import wasi:logging/logging@0.1.0-draft; }
        ",
        path: ["../../../../wit/deps/logging-0.1.0-draft.wit"],
        world: "test:probe-logging-draft/probe",
        generate_all,
    });
}

/// `wasi:logging` without a version.
pub(crate) mod logging_unversioned {
    wit_bindgen::generate!({
        inline: "
            package test:probe-logging-unversioned;
            world probe { import wasi:logging/logging; }
        ",
        path: ["../../../../wit/deps/logging-unversioned.wit"],
        world: "test:probe-logging-unversioned/probe",
        generate_all,
    });
}
