//! Whether what somebody types is finished, or goes on on the next line.

use super::calls::read;

/// Words with which a block of the imperative syntax begins.
const BLOCKS: &[&str] = &["def", "type", "object", "checked", "unchecked"];

/// Whether a text can be taken as it is. A bracket or a text that is open goes on, and so do a block and what ends with `=` or `:`. An empty line ends all of them, so that
/// nobody is caught in what he cannot close.
pub fn is_complete(text: &str) -> bool {
    let ends_in_empty_line =
        text.trim_start().contains('\n') && text.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    if ends_in_empty_line || text.trim().is_empty() {
        return true;
    }
    let state = read(text);
    let is_open = !state.open.is_empty() || (state.is_quoted && !ends_in_comment(text));
    !is_open && !is_block(text) && !text.trim_end().ends_with(['=', ':'])
}

/// Whether a text begins a block, which goes on as long as its lines are indented.
pub fn is_block(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    // A functional definition of a type, `type T = A | B`, is on one line.
    let head = text.lines().next().unwrap_or_default();
    BLOCKS.contains(&word)
        && !(word == "type" && head.contains('='))
        && !(word == "object" && head.trim_end().ends_with('}'))
}

/// Whether the last line ends in a comment, which ends with it.
fn ends_in_comment(text: &str) -> bool {
    let line = text.rfind('\n').map_or(0, |newline| newline + 1);
    let start = text[line..].char_indices().find(|(at, c)| *c == '#' && !read(&text[..line + at]).is_quoted);
    start.is_some_and(|(at, _)| !text[line + at..].starts_with("#{"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_until_it_is_finished() {
        for text in [
            "1 + 2",
            "f(1, [2, 3])",
            "x = 3",
            "f(1) # open (",
            "def f(x):\n  return x\n",
            "type T = A | B",
            "object P { x }",
            "\"a(\"",
            "",
            "f(1,\n2\n",
        ] {
            assert!(is_complete(text), "{text:?}");
        }
        for text in [
            "f(1,",
            "[1\n2",
            "\"open",
            "x =",
            "def f(x):",
            "def f(x):\n  return x",
            "type T:\n  A",
            "#{ open",
            "f(1) #{ open",
        ] {
            assert!(!is_complete(text), "{text:?}");
        }
    }
}
