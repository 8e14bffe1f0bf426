//! What was submitted last, though several threads submit at a time.
//!
//! A thread may be slow to say what it has submitted, so the last one to say it need not be the last one to have submitted. wgpu's queue calls others back while it
//! takes a submission, so no lock is held meanwhile. Invariant: the work of all submissions that somebody has noted is done when those in the list are done.

/// The submissions of which none is known to come before another.
#[derive(Debug)]
pub(super) struct Submissions<I> {
    /// How many were noted.
    noted: u64,
    /// Each with how many had been noted then, itself among them.
    last: Vec<(u64, I)>,
}

impl<I> Default for Submissions<I> {
    fn default() -> Submissions<I> {
        Submissions { noted: 0, last: vec![] }
    }
}

impl<I: Clone> Submissions<I> {
    /// To be asked before something is submitted, and given to [`note`](Self::note) afterwards.
    pub fn begin(&self) -> u64 {
        self.noted
    }

    /// Something was submitted. What had been noted when that began comes before it.
    pub fn note(&mut self, begun: u64, submission: I) {
        self.noted += 1;
        self.last.retain(|(noted, _)| *noted > begun);
        self.last.push((self.noted, submission));
    }

    /// All that has to be waited for.
    pub fn last(&self) -> Vec<I> {
        self.last.iter().map(|(_, submission)| submission.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_after_another_leaves_the_last_one() {
        let mut submissions = Submissions::default();
        for submission in 1..5 {
            let begun = submissions.begin();
            submissions.note(begun, submission);
        }
        assert_eq!(submissions.last(), [4]);
    }

    /// One thread submits 5, another one 6 and says so, then the first one says 5.
    #[test]
    fn who_is_slow_to_say_it_hides_nothing() {
        let mut submissions = Submissions::default();
        let slow = submissions.begin();
        let quick = submissions.begin();
        submissions.note(quick, 6);
        submissions.note(slow, 5);
        assert_eq!(submissions.last(), [6, 5]);
        let next = submissions.begin();
        submissions.note(next, 7);
        assert_eq!(submissions.last(), [7]);
    }
}
