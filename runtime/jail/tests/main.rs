//! Does the jail hold, and can one work in it? Real bubblewrap, real Landlock; a missing part fails and says which.

mod suites {
    pub mod ends;
    pub mod everyday;
    pub mod fixture;
    pub mod hidden;
    pub mod reach;
    pub mod refuse;
    pub mod run_later;
    pub mod tool;
}
