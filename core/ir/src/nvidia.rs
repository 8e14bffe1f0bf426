//! NVIDIA's architectures by their names: what code for a card is written for.

use std::fmt;

/// A kind of NVIDIA GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The compute capability without its point: 75, 80, 90, 100.
    pub sm: u32,
    /// Whether instructions may be used that this very architecture has and later ones lack (`sm_90a`).
    pub specific: bool,
}

/// The oldest architecture that PTX is written for.
pub const OLDEST: u32 = 75;

impl Target {
    /// What PTX for a card is written for: the oldest architecture that has all that is used of the card's own. The driver compiles
    /// it for the card itself, so nothing is lost, and cards that are newer than this table run too. None for cards that are too old.
    pub const fn of_device(sm: u32) -> Option<Target> {
        match sm {
            ..OLDEST => None,
            OLDEST..80 => Some(Target { sm: 75, specific: false }),
            80..90 => Some(Target { sm: 80, specific: false }),
            90 => Some(Target { sm: 90, specific: true }),
            91.. => Some(Target { sm: 90, specific: false }),
        }
    }

    /// A target by its name: `sm_80`, `sm_90a`. None if it is not one, or older than `sm_75`.
    pub fn from_name(name: &str) -> Option<Target> {
        let number = name.strip_prefix("sm_")?;
        let (digits, specific) = number.strip_suffix('a').map_or((number, false), |digits| (digits, true));
        let sm = digits.parse().ok().filter(|sm| (OLDEST..1000).contains(sm))?;
        (!specific || sm >= 90).then_some(Target { sm, specific })
    }

    /// Whether it has Hopper's matrix products on shared memory.
    pub const fn has_wgmma(self) -> bool {
        self.sm == 90 && self.specific
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, if self.specific { "a" } else { "" })
    }
}
