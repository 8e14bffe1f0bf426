//! Scripts put in line: phases of steps, and where the frames of each lie.
//!
//! There is a stack of frames for each number of instances; in it a slot of all instances stands beside each other. So within a phase, whose steps
//! are of one number of instances, no two lanes touch one word: each sees only what it wrote itself, or what stood there when the phase began.
//! Between two phases everything is seen.
//!
//! What calls of an instance have done is seen by others than those of the instance as soon as they are behind a barrier of all. So a phase says how
//! many instances those have in common that it has and those that the phase before it had.

use super::code::Word;
use super::memory::{phase, step};
use super::script::{Item, Script};
use crate::Refusal;
use girih_ir::heap::CELL;
use std::fmt;

/// What the device does, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In order.
    pub phases: Vec<Phase>,
    /// What each step is.
    pub steps: Vec<Step>,
    /// The words that segments read.
    pub words: Vec<u32>,
    /// Most slots of the stack of each level.
    pub slots: Vec<u64>,
    /// Units of the heap that are given out beforehand, the first ones, which are no cells, included.
    pub units: u64,
}

/// Steps with no barrier between them.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The first step.
    pub first: u32,
    /// Where they end.
    pub end: u32,
    /// The binary logarithm of how many instances there are.
    pub level: u32,
    /// The same for the widest call that both this phase and the one before it belong to: what they know of each other, they know within an
    /// instance of that.
    pub common: u32,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The segment.
    pub segment: u32,
    /// The binary logarithm of how many instances there are.
    pub level: u32,
    /// The first slot of their frames, in their level's stack.
    pub base: u64,
    /// The first slots of what they call, by 2^0 to 2^3 instances for each, in the stacks of these levels.
    pub child: [u64; 4],
    /// The first of the words that the segment reads.
    pub words: u32,
}

/// Puts a script in line that runs for one instance.
pub(super) fn plan(scripts: &[Script], root: usize, first_unit: u64, most: usize) -> Result<Plan, Refusal> {
    if first_unit > u64::from(u32::MAX >> 3) {
        return Err(Refusal::new("there is too little memory"));
    }
    let plan = Plan { units: first_unit, ..Plan::default() };
    let mut line = Line { scripts, plan, tops: vec![], most, common: None };
    line.script(root, 0)?;
    let plan = line.plan;
    if plan.frames() > u64::from(u32::MAX) {
        return Err(Refusal::new("there are too many frames"));
    }
    Ok(plan)
}

struct Line<'a> {
    scripts: &'a [Script],
    plan: Plan,
    /// Where the stack of each level ends.
    tops: Vec<u64>,
    most: usize,
    /// The lowest level since the last step, if there was a call of more instances, or an end of one.
    common: Option<u32>,
}

impl Line<'_> {
    fn top(&self, level: u32) -> u64 {
        self.tops.get(level as usize).copied().unwrap_or(0)
    }

    fn script(&mut self, script: usize, level: u32) -> Result<(), Refusal> {
        let Script { items, slots, .. } = &self.scripts[script];
        let here = level as usize;
        if self.tops.len() <= here {
            self.tops.resize(here + 1, 0);
            self.plan.slots.resize(here + 1, 0);
        }
        let base = self.tops[here];
        self.tops[here] += u64::from(*slots);
        self.plan.slots[here] = self.plan.slots[here].max(self.tops[here]);
        for item in items {
            match item {
                Item::Step { segment, words } => self.step(*segment, words, level, base)?,
                Item::Call { script, widened: 0 } => self.script(*script, level)?,
                Item::Call { script, widened } => {
                    self.common = Some(self.common.map_or(level, |common| common.min(level)));
                    self.script(*script, level + widened)?;
                    self.common = Some(self.common.map_or(level, |common| common.min(level)));
                }
            }
        }
        self.tops[here] = base;
        Ok(())
    }

    fn step(&mut self, segment: u32, words: &[Word], level: u32, base: u64) -> Result<(), Refusal> {
        if self.plan.steps.len() >= self.most {
            return Err(Refusal::new("there are too many steps"));
        }
        let first = self.plan.words.len() as u32;
        for word in words {
            let value = match word {
                Word::Number(bits) => *bits,
                Word::Room(units) => {
                    let first = self.plan.units;
                    self.plan.units += u64::from(*units) << level;
                    // The word of the first of these cells.
                    u32::try_from(first << 3).map_err(|_| Refusal::new("there is too little memory"))? | CELL
                }
            };
            self.plan.words.push(value);
        }
        let number = self.plan.steps.len() as u32;
        let child = [0, 1, 2, 3].map(|widened| self.top(level + widened));
        self.plan.steps.push(Step { segment, level, base, child, words: first });
        match (self.plan.phases.last_mut(), self.common.take()) {
            (Some(phase), None) => phase.end = number + 1,
            (_, common) => {
                let common = common.unwrap_or(level);
                self.plan.phases.push(Phase { first: number, end: number + 1, level, common });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    /// A line for each phase: its instances, and its segments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} phases, {} words of frames, {} units of heap", self.phases.len(), self.frames(), self.units)?;
        for Phase { first, end, level, common } in &self.phases {
            let segments: Vec<u32> = self.steps[*first as usize..*end as usize].iter().map(|s| s.segment).collect();
            write!(f, "\n2^{level} instances (2^{common} before): segments {segments:?}")?;
        }
        Ok(())
    }
}

impl Plan {
    /// Words of all frames.
    pub fn frames(&self) -> u64 {
        self.slots.iter().enumerate().map(|(level, slots)| slots << level).sum()
    }
    /// Most instances of a step, as a binary logarithm.
    pub fn widest(&self) -> u32 {
        self.phases.iter().map(|phase| phase.level).max().unwrap_or(0)
    }

    /// Instances of all steps together.
    pub fn instances(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.end - phase.first) << phase.level).sum()
    }

    /// Words of the schedule: phases, steps, words.
    pub fn schedule(&self) -> Vec<u32> {
        let mut stacks = vec![];
        let mut end = 0;
        for (level, slots) in self.slots.iter().enumerate() {
            stacks.push(end);
            end += slots << level;
        }
        // Frames of levels that are never reached are never touched.
        let place =
            |level: u32, slot: u64| stacks.get(level as usize).map_or(0, |first| first + (slot << level)) as u32;
        let mut all: Vec<u32> = self.phases.iter().flat_map(|phase| [phase.first, phase.end, phase.level, 0]).collect();
        // Behind the last phase and the last step stands one that is read but not run.
        all.extend([0; phase::WORDS as usize]);
        let words_at = self.steps_at() + step::WORDS * (self.steps.len() as u32 + 1);
        for Step { segment, level, base, child, words } in &self.steps {
            all.extend([*segment, words_at + words, place(*level, *base)]);
            all.extend([0, 1, 2, 3].map(|widened| place(level + widened as u32, child[widened])));
            all.push(0);
        }
        all.extend([0; step::WORDS as usize]);
        all.extend(&self.words);
        all
    }
    /// Where steps begin in the schedule.
    pub fn steps_at(&self) -> u32 {
        phase::WORDS * (self.phases.len() as u32 + 1)
    }
}
