//! The comment that documents an item: the lines of comments directly above it, or a comment in `#{ #}` that ends there.

use girih_base::lexer::COMMENT_END;

/// The text of the comment above the line of the byte `at`, without its signs; none if there is no comment directly above.
pub fn above(text: &str, at: usize) -> Option<String> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let before = text[..start].trim_end_matches([' ', '\t', '\r']);
    let before = before.strip_suffix('\n').unwrap_or(before).trim_end_matches([' ', '\t', '\r']);
    if let Some(inside) = before.strip_suffix(COMMENT_END) {
        let open = inside.rfind("#{")?;
        return said(inside[open + "#{".len()..].lines().map(str::trim));
    }
    let comment =
        |line: &str| line.trim().strip_prefix('#').map(|rest| rest.strip_prefix(' ').unwrap_or(rest).to_owned());
    let mut lines: Vec<String> = text[..start].lines().rev().map_while(comment).collect();
    lines.reverse();
    said(lines.iter().map(|line| line.trim_end()))
}

/// Lines as one text; none if they say nothing.
fn said<'t>(lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_matches('\n').trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}
