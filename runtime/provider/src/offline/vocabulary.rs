//! Which words say nothing by themselves? Lists of what is passed over, by the place where it may stand.

/// Before a verb, and without a meaning.
pub(super) const POLITE: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "please",
    "can",
    "could",
    "would",
    "you",
    "now",
    "and",
    "then",
    "also",
    "first",
    "next",
    "finally",
    "afterwards",
];
/// Before the name of a text that is read.
pub(super) const OF_A_TEXT: &[&str] = &[
    "me", "us", "the", "file", "page", "website", "site", "url", "text", "content", "contents", "of", "at", "from",
    "in", "web", "called", "named",
];
/// Before the name of a file that is written.
pub(super) const OF_A_FILE: &[&str] = &["the", "a", "an", "new", "empty", "file", "called", "named"];
/// Around the name of a directory.
pub(super) const OF_A_DIRECTORY: &[&str] = &[
    "me",
    "all",
    "the",
    "of",
    "files",
    "file",
    "directory",
    "directories",
    "folder",
    "contents",
    "content",
    "everything",
    "in",
    "inside",
    "under",
    "within",
    "at",
    "here",
    "there",
    "are",
    "is",
    "this",
    "my",
    "current",
    "workspace",
];
/// Before a pattern of names.
pub(super) const OF_A_NAME: &[&str] = &[
    "me", "all", "the", "a", "files", "file", "matching", "that", "match", "named", "called", "like", "with", "name",
    "names", "pattern",
];
/// All that a question for the time may hold.
pub(super) const OF_A_TIME: &[&str] = &[
    "what", "what's", "whats", "which", "tell", "me", "is", "it", "the", "current", "time", "date", "day", "now",
    "today", "and", "of",
];
/// What a part begins with; only before these do "and" and "then" set parts apart.
pub(super) const VERBS: &[&str] = &[
    "read", "cat", "show", "print", "display", "open", "get", "fetch", "download", "load", "visit", "browse", "write",
    "save", "store", "put", "create", "make", "list", "ls", "dir", "find", "glob", "search", "grep", "look", "what",
    "what's", "whats", "which", "tell",
];
