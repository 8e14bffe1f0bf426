//! Makes random kernels smaller while they fail, by leaving out and lowering the bytes that chose their contents.

use super::suite::{reference, wrong};
use super::{Group, Oracle, random, run_group, tiles};
use girih_ir::text;
use girih_runtime::Device;
use std::fmt;

/// What writes a random kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelForm {
    /// [`random`]: kernels as devices have them.
    Plain,
    /// [`tiles`]: kernels in tile form.
    Tiles,
}

impl KernelForm {
    /// What stands before the bytes of its kernels.
    fn prefix(self) -> &'static str {
        match self {
            KernelForm::Plain => "",
            KernelForm::Tiles => "tile:",
        }
    }

    /// The kernels of these bytes.
    fn group(self, name: String, kernels: &[Vec<u8>]) -> Group {
        match self {
            KernelForm::Plain => random::group(name, kernels),
            KernelForm::Tiles => tiles::tile_group(name, kernels),
        }
    }
}

/// The bytes that chose what a random kernel holds, and what read them; in hexadecimal for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// What reads them.
    pub writer: KernelForm,
    /// A kernel of no bytes is the simplest one.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.writer.prefix())?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads choices.
pub fn choices(text: &str) -> Result<Choices, String> {
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8),
        _ => None,
    };
    let tiles = text.strip_prefix(KernelForm::Tiles.prefix());
    let writer = if tiles.is_some() { KernelForm::Tiles } else { KernelForm::Plain };
    let bytes: Option<Vec<u8>> = tiles.unwrap_or(text).as_bytes().chunks(2).map(byte).collect();
    let bytes = bytes.ok_or("expected pairs of hexadecimal digits, after `tile:` for kernels in tile form")?;
    Ok(Choices { writer, bytes })
}

/// A kernel that fails on a device, and of which nothing was found that can be left out.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// What it is made of.
    pub choices: Choices,
    /// In which way it fails.
    pub what: String,
    /// Its text.
    pub text: String,
}

/// How many kernels are tried at most: a graphics card's compiler takes some tens of milliseconds for each.
const TRIES: u32 = 1500;

/// The smallest kernel that fails on a device; none if this one does not.
pub fn smallest(choices: &Choices, device: &Device) -> Option<Smallest> {
    let fails = |bytes: &[u8]| {
        let group = choices.writer.group("random".to_owned(), &[bytes.to_vec()]);
        let mut machine = reference;
        let outcomes = run_group(&mut Oracle::new(&group, &mut machine), device);
        wrong(&group, &outcomes).next().map(|(_, what)| (what, text::print(&group.module)))
    };
    fails(&choices.bytes)?;
    let mut tries = 0;
    let bytes = shrink(&choices.bytes, |bytes| {
        tries += 1;
        tries <= TRIES && fails(bytes).is_some()
    });
    let (what, text) = fails(&bytes)?;
    Some(Smallest { choices: Choices { writer: choices.writer, bytes }, what, text })
}

/// The smallest choices, found by leaving out and lowering bytes, of which `fails` still holds.
fn shrink(choices: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut best = choices.to_vec();
    let mut step = best.len().div_ceil(2).max(1);
    loop {
        let mut better = false;
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + step).min(best.len()));
            if fails(&shorter) {
                best = shorter;
                better = true;
            } else {
                at += step;
            }
        }
        if step == 1 {
            for at in 0..best.len() {
                for value in [best[at] / 2, best[at].saturating_sub(1)] {
                    let mut lower = best.clone();
                    lower[at] = value;
                    if lower[at] != best[at] && fails(&lower) {
                        best = lower;
                        better = true;
                    }
                }
            }
            if !better {
                return best;
            }
        } else {
            step = step.div_ceil(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_finds_the_byte_that_matters() {
        let choices: Vec<u8> = (0..100).collect();
        assert_eq!(shrink(&choices, |bytes| bytes.iter().any(|b| *b >= 40)), [40]);
    }

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for writer in [KernelForm::Plain, KernelForm::Tiles] {
            let shown = Choices { writer, bytes: vec![0, 9, 0xa5, 0xff] };
            assert_eq!(choices(&shown.to_string()), Ok(shown));
        }
        assert!(choices("abc").is_err() && choices("zz").is_err() && choices("tile:0").is_err());
    }
}
