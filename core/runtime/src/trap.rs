//! What kernels report by traps: a code, and of a failed assertion its text.
//!
//! A kernel has room for a code alone. So the code of an assertion is made of its text, and whoever loads the kernel says the text here, before it runs.
//! Invariant: the code depends on the text alone, so code that was compiled in another process reports the same one.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The codes of assertions have this bit; a program's own traps are small numbers.
const ASSERTION: u32 = 1 << 31;

/// The texts of assertions that kernels of this process may report.
static TEXTS: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// The code of the trap by which a kernel reports that an assertion with this text has failed. [`trap`] knows its text from then on.
pub fn assertion(text: &str) -> u32 {
    // FNV-1a (Fowler, Noll, Vo). Should two texts have one code, the first is reported.
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let code = hash | ASSERTION;
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_insert_with(|| text.to_owned());
    code
}

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    let is_assertion = code & ASSERTION != 0;
    let text = TEXTS.lock().unwrap_or_else(PoisonError::into_inner).get(&code).filter(|_| is_assertion).cloned();
    match text {
        Some(text) if text.is_empty() => Diagnostic::new(Code::AssertionFailed, Span::NONE, "an assertion fails"),
        Some(text) => Diagnostic::new(Code::AssertionFailed, Span::NONE, format!("the assertion fails: {text}")),
        None => Diagnostic::new(Code::Trap, Span::NONE, format!("the kernel reported trap {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_assertion_is_told_by_its_text() {
        let code = assertion("index out of bounds: 0 <= i < 5");
        assert_eq!(code, assertion("index out of bounds: 0 <= i < 5"));
        assert_ne!(code, assertion("index out of bounds: 0 <= i < 6"));
        let told = trap(code);
        assert_eq!(told.code, Code::AssertionFailed);
        assert_eq!(told.message, "the assertion fails: index out of bounds: 0 <= i < 5");
        assert_eq!(trap(assertion("")).message, "an assertion fails");
        assert_eq!(trap(7).message, "the kernel reported trap 7");
    }
}
