//! Does everything about tools that lies on disk keep its promises? Real files, real signatures, and a scripted
//! compiler.

mod suites {
    mod granting;
    mod installing;
    mod kit;
    mod offering;
    mod resolving;
    mod trusting;
}
