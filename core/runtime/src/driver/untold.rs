//! What work has failed with, until somebody is told: for drivers whose work is queued.
//!
//! Such a driver copies the word that notes traps behind each point of a queue, and work behind the point begins with a word that is zero. So each copy says what was trapped between
//! two points. Invariant: a failure is told once, and by no point that lies before it.

use crate::trap;
use girih_base::diag::Diagnostic;
use std::collections::VecDeque;

/// A copy of the word that notes traps.
pub trait Note {
    /// What was trapped, 0 if nothing was; none while the copy is on its way.
    fn code(&self) -> Option<u32>;
}

/// More failures than this are not kept for somebody who does not ask.
const MOST: usize = 64;
/// When there are more notes than this, those that have arrived are read although nobody asks.
const MANY: usize = 32;

/// The points of a queue by number, and what nobody has been told yet.
#[derive(Debug)]
pub struct Untold<N> {
    points: u64,
    notes: VecDeque<(u64, N)>,
    /// Each with the first point behind it, in the order of these points.
    failures: VecDeque<(u64, Diagnostic)>,
}

impl<N> Default for Untold<N> {
    fn default() -> Untold<N> {
        Untold { points: 0, notes: VecDeque::new(), failures: VecDeque::new() }
    }
}

impl<N: Note> Untold<N> {
    /// The number of a new point.
    pub fn point(&mut self) -> u64 {
        self.points += 1;
        self.points
    }

    /// The number of the newest point.
    pub fn newest(&self) -> u64 {
        self.points
    }

    /// The copy that was made at a point.
    pub fn note(&mut self, point: u64, note: N) {
        if self.notes.len() >= MANY {
            while let Some((point, code)) = self.notes.front().and_then(|(point, note)| Some((*point, note.code()?))) {
                self.notes.pop_front();
                self.trapped(point, code);
            }
        }
        self.notes.push_back((point, note));
    }

    /// The host has found a failure of work that was queued: the next point is the first one behind it.
    pub fn fail(&mut self, failure: Diagnostic) {
        self.keep(self.points + 1, failure);
    }

    /// Tells the first failure before a point that nobody has been told yet. Copies before the point that are still on their way are left
    /// for whoever asks next.
    ///
    /// # Errors
    /// If there is something to tell.
    pub fn tell(&mut self, point: u64) -> Result<(), Diagnostic> {
        let mut arrived = vec![];
        self.notes.retain(|(at, note)| {
            let code = if *at <= point { note.code() } else { None };
            arrived.extend(code.map(|code| (*at, code)));
            code.is_none()
        });
        arrived.into_iter().for_each(|(at, code)| self.trapped(at, code));
        match self.failures.front() {
            Some((at, _)) if *at <= point => self.failures.pop_front().map_or(Ok(()), |(_, failure)| Err(failure)),
            _ => Ok(()),
        }
    }

    /// What a copy at a point has said, 0 if nothing was trapped.
    pub fn trapped(&mut self, point: u64, code: u32) {
        if code != 0 {
            self.keep(point, trap(code));
        }
    }

    fn keep(&mut self, point: u64, failure: Diagnostic) {
        if self.failures.len() < MOST {
            let place = self.failures.partition_point(|(at, _)| *at <= point);
            self.failures.insert(place, (point, failure));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_base::diag::Code;
    use girih_base::span::Span;
    use std::cell::Cell;
    use std::rc::Rc;

    impl Note for Rc<Cell<Option<u32>>> {
        fn code(&self) -> Option<u32> {
            self.get()
        }
    }

    fn note(code: u32) -> Rc<Cell<Option<u32>>> {
        Rc::new(Cell::new(Some(code)))
    }

    fn told(untold: &mut Untold<Rc<Cell<Option<u32>>>>, point: u64) -> Option<String> {
        untold.tell(point).err().map(|failure| failure.message)
    }

    #[test]
    fn no_point_tells_what_comes_after_it() {
        let mut untold = Untold::default();
        let before = untold.point();
        let after = untold.point();
        untold.note(after, note(7));
        assert_eq!(told(&mut untold, before), None);
        assert_eq!(told(&mut untold, after), Some(trap(7).message));
        assert_eq!(told(&mut untold, after), None, "it is told once");
    }

    #[test]
    fn each_failure_is_told_once_by_whoever_is_asked_first() {
        let mut untold = Untold::default();
        let first = untold.point();
        untold.note(first, note(1));
        let second = untold.point();
        untold.note(second, note(2));
        untold.fail(Diagnostic::new(Code::OverLimit, Span::NONE, "too much"));
        let third = untold.point();
        assert_eq!(told(&mut untold, second), Some(trap(1).message));
        assert_eq!(told(&mut untold, first), None, "the second point has told it");
        assert_eq!(told(&mut untold, second), Some(trap(2).message));
        assert_eq!(told(&mut untold, second), None, "the failure is behind it");
        assert_eq!(told(&mut untold, third), Some("too much".into()));
        assert_eq!(told(&mut untold, third), None);
    }

    #[test]
    fn a_copy_on_its_way_is_left_for_later() {
        let mut untold = Untold::default();
        let (point, copy) = (untold.point(), Rc::new(Cell::new(None)));
        untold.note(point, copy.clone());
        assert_eq!(told(&mut untold, point), None);
        copy.set(Some(3));
        assert_eq!(told(&mut untold, point), Some(trap(3).message));
    }

    #[test]
    fn who_never_asks_takes_little_memory() {
        let mut untold = Untold::default();
        for code in 1..=1000 {
            let point = untold.point();
            untold.note(point, note(code));
        }
        assert!(untold.notes.len() <= MANY && untold.failures.len() <= MOST);
        let newest = untold.newest();
        assert_eq!(told(&mut untold, newest), Some(trap(1).message));
    }
}
