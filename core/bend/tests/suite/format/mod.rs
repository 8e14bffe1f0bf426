//! The formatter: what it makes of every program of the repository, of random ones in odd layouts, and of comments in every place.

mod commented;
mod corpus;
mod places;
mod random;

use girih_base::diag::{Diagnostic, Style, render};
use girih_base::span::{SourceId, Sources};
use girih_bend::format::format;
use girih_bend::parser::Dialect;

/// The formatter's text, or its errors as they are shown.
fn formatted(text: &str, dialect: Dialect) -> Result<String, String> {
    let mut sources = Sources::default();
    let source: SourceId = sources.add("program.bend", text);
    let shown = |found: &Diagnostic| render(found, &sources, Style::Plain);
    format(source, text, dialect).map_err(|errors| errors.iter().map(shown).collect())
}

/// Formats a text twice: the second time changes nothing.
fn stable(text: &str, dialect: Dialect) -> Result<String, String> {
    let once = formatted(text, dialect)?;
    let twice = formatted(&once, dialect).map_err(|said| format!("{said}\nin what was formatted:\n{once}"))?;
    if once == twice { Ok(once) } else { Err(format!("formatted twice:\n{once}\n---\n{twice}")) }
}

/// Runs a test on a stack that is large enough for deeply nested programs.
fn deep(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(test).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
