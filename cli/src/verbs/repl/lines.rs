//! Input that comes from a file or a pipe: whole inputs out of lines, without a prompt.

use girih_bend::analysis::completeness::{is_block, is_complete};
use std::io::{self, Lines, StdinLock};

/// Reads inputs from standard input.
pub struct InputLines {
    lines: Lines<StdinLock<'static>>,
    /// A line that was read and begins the next input.
    next: Option<String>,
}

impl InputLines {
    /// From the start of standard input.
    pub fn new() -> InputLines {
        InputLines { lines: io::stdin().lines(), next: None }
    }

    /// The next input; none at the end. A block ends before a line that is not indented, too.
    pub fn read(&mut self) -> io::Result<Option<String>> {
        let Some(mut input) = self.line()? else { return Ok(None) };
        while !input.starts_with(':') && !is_complete(&input) {
            let Some(line) = self.line()? else { break };
            let is_other = !line.is_empty() && !line.starts_with(char::is_whitespace);
            if is_other && is_block(&input) && is_complete(&format!("{input}\n")) {
                self.next = Some(line);
                break;
            }
            input.push('\n');
            input.push_str(&line);
        }
        Ok(Some(input))
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        match self.next.take() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next().transpose(),
        }
    }
}
