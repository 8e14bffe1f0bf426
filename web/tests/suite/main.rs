//! The playground's compiler, outside of a browser.

mod examples;
