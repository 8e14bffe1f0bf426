//! What the assembler says about lines of the text, as diagnostics about places in the source.

use super::Ptx;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// The errors and warnings of a log of `ptxas` or of the driver; one without a place if the log names no line.
pub fn diagnostics(ptx: &Ptx, log: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = vec![];
    for entry in log.lines() {
        let Some((line, said)) = about_line(entry) else { continue };
        let span = line.checked_sub(1).and_then(|i| ptx.lines.get(i)).copied().unwrap_or(Span::NONE);
        let text = ptx.text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim();
        let message = format!("the assembler says of `{}`: {said}", shortened(text));
        let diagnostic = Diagnostic::new(Code::DeviceCompiler, span, message);
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
    }
    if found.is_empty() && !log.trim().is_empty() {
        let message = format!("the assembler says: {}", log.trim());
        found.push(Diagnostic::new(Code::DeviceCompiler, Span::NONE, message));
    }
    found
}

/// `ptxas FILE, line 12; error   : text` in its two parts.
fn about_line(entry: &str) -> Option<(usize, String)> {
    let (_, rest) = entry.split_once(", line ")?;
    let (line, said) = rest.split_once(';')?;
    let said: Vec<&str> = said.split_whitespace().collect();
    Some((line.trim().parse().ok()?, said.join(" ").replace(" : ", ": ")))
}

/// The beginning of a line: products of matrices name hundreds of registers.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text.to_owned(),
    }
}
