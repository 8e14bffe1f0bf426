//! What the keys do.

use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{Key, NamedKey};

/// Shown by `--help`.
pub const HELP: &str = "\
Keys:
  left, right, 1 to 9   another shader
  space                 pause
  .                     pause, and go on by a thirtieth of a second
  d                     another device
  r                     start again at time 0
  +, -                  more or fewer pixels
  s                     save a PNG
  f                     full screen
  q, escape             quit";

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Step(isize),
    GoTo(usize),
    Pause,
    Advance,
    Device,
    Restart,
    Finer,
    Coarser,
    Save,
    FullScreen,
    Quit,
}

impl Action {
    /// What an event of the keyboard asks for, if anything. A key that is held down repeats only what is meant to be repeated.
    pub fn of(event: &KeyEvent) -> Option<Action> {
        if event.state != ElementState::Pressed {
            return None;
        }
        let action = match &event.logical_key {
            Key::Named(NamedKey::ArrowLeft) => Action::Step(-1),
            Key::Named(NamedKey::ArrowRight) => Action::Step(1),
            Key::Named(NamedKey::Space) => Action::Pause,
            Key::Named(NamedKey::Escape) => Action::Quit,
            Key::Character(text) => Action::of_character(text)?,
            Key::Named(_) | Key::Unidentified(_) | Key::Dead(_) => return None,
        };
        let repeats = matches!(action, Action::Step(_) | Action::Advance);
        (!event.repeat || repeats).then_some(action)
    }

    fn of_character(text: &str) -> Option<Action> {
        let action = match text {
            "+" | "=" => Action::Finer,
            "-" => Action::Coarser,
            "." => Action::Advance,
            "d" | "D" => Action::Device,
            "r" | "R" => Action::Restart,
            "s" | "S" => Action::Save,
            "f" | "F" => Action::FullScreen,
            "q" | "Q" => Action::Quit,
            " " => Action::Pause,
            _ => {
                let digit: usize = text.parse().ok().filter(|digit| (1..=9).contains(digit))?;
                Action::GoTo(digit - 1)
            }
        };
        Some(action)
    }
}
