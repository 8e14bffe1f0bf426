//! Input that somebody types into a terminal: several lines, history, colours and completion, by the crate `reedline`. What is known of the language comes from
//! [`girih_bend::analysis`], as for an editor.

use super::commands::COMMANDS;
use girih::session::Session;
use girih_bend::analysis::completeness::is_complete;
use girih_bend::analysis::highlight::{Class, highlight};
use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, Completer, Emacs, FileBackedHistory, Highlighter, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, StyledText, Suggestion,
    ValidationResult, Validator, default_emacs_keybindings,
};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How many inputs are remembered.
const REMEMBERED: usize = 2000;

/// A line with an editor.
pub struct Terminal {
    editor: Reedline,
}

impl Terminal {
    /// Starts; the second value says why there is no history, if there is none.
    pub fn new(session: Arc<Mutex<Session>>, is_coloured: bool) -> (Terminal, Option<String>) {
        let mut keys = default_emacs_keybindings();
        let menu = || ReedlineEvent::Menu("completion".to_owned());
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![menu(), ReedlineEvent::MenuNext]),
        );
        let columns = Box::new(ColumnarMenu::default().with_name("completion"));
        let mut editor = Reedline::create()
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_validator(Box::new(Finished))
            .with_completer(Box::new(Names { session }))
            .with_menu(ReedlineMenu::EngineCompleter(columns))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_ansi_colors(is_coloured);
        if is_coloured {
            editor = editor.with_highlighter(Box::new(Colours));
        }
        let (editor, problem) = match history() {
            Ok(history) => (editor.with_history(Box::new(history)), None),
            Err(why) => (editor, Some(why)),
        };
        (Terminal { editor }, problem)
    }

    /// The next input; none at the end. What Ctrl-C throws away is an empty one.
    pub fn read(&mut self) -> io::Result<Option<String>> {
        match self.editor.read_line(&Signs)? {
            Signal::Success(text) => Ok(Some(text)),
            Signal::CtrlD => Ok(None),
            // The other signals are those of features that are not used.
            _ => Ok(Some(String::new())),
        }
    }
}

/// The history in the user's folder for data.
fn history() -> Result<FileBackedHistory, String> {
    let file = data_folder().ok_or("the environment names no folder for it")?.join("girih").join("history");
    FileBackedHistory::with_file(REMEMBERED, file).map_err(|error| error.to_string())
}

/// As the environment names it. A path that is empty or relative names none.
fn data_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local").join("share"));
    absolute("XDG_DATA_HOME").or_else(home).or_else(|| absolute("LOCALAPPDATA"))
}

/// The prompts.
struct Signs;

impl Prompt for Signs {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(">>> ")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("... ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("search `{}`: ", search.term))
    }
}

/// Whether Enter ends the input.
struct Finished;

impl Validator for Finished {
    fn validate(&self, text: &str) -> ValidationResult {
        if text.starts_with(':') || is_complete(text) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

/// Colours as the terminal has them.
struct Colours;

impl Highlighter for Colours {
    fn highlight(&self, text: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        for (part, class) in highlight(text) {
            let style = match class {
                Class::Comment => Style::new().dimmed(),
                Class::Quoted => Style::new().fg(Color::Green),
                Class::Number => Style::new().fg(Color::Cyan),
                Class::Keyword => Style::new().fg(Color::Magenta),
                Class::Type => Style::new().fg(Color::Yellow),
                Class::Function => Style::new().fg(Color::Blue),
                Class::Other => Style::new(),
            };
            styled.push((style, text[part].to_owned()));
        }
        styled
    }
}

/// Completes names of the session and commands.
struct Names {
    session: Arc<Mutex<Session>>,
}

impl Completer for Names {
    fn complete(&mut self, text: &str, at: usize) -> Vec<Suggestion> {
        let suggestion = |start: usize, value: String, description: Option<String>| Suggestion {
            value,
            description,
            span: Span::new(start, at),
            ..Suggestion::default()
        };
        if text.starts_with(':') && !text[..at].contains(char::is_whitespace) {
            let known = COMMANDS.iter().filter(|command| command.name.starts_with(&text[..at]));
            return known
                .map(|command| suggestion(0, command.name.to_owned(), Some(command.help.to_owned())))
                .collect();
        }
        // What stands behind a command is completed as it would be without it.
        let blank = text.char_indices().find(|(_, c)| c.is_whitespace()).filter(|_| text.starts_with(':'));
        let skipped = blank.map_or(0, |(at, blank)| at + blank.len_utf8());
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let completion = session.complete(&text[skipped..], at.saturating_sub(skipped));
        let start = skipped + completion.start;
        let typed = &text[start..at];
        let fitting = completion.candidates.into_iter().filter(|candidate| candidate.text.starts_with(typed));
        fitting.map(|candidate| suggestion(start, candidate.text, candidate.detail)).collect()
    }
}
