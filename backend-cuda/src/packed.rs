//! A kernel as bytes: its code, and all that launches need to know of it.

use crate::ptx::{Entry as Rendered, Launches, SharedSize};
use girih_base::pack::{Packer, Unpacker};
use girih_ir::Function;
use girih_lower::Entry;

/// What the driver is told of a kernel at each launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchShape {
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Whether all its workgroups run at once.
    pub cooperative: bool,
    /// Whether it may note a trap.
    pub traps: bool,
}

impl LaunchShape {
    /// The shape of a legal kernel.
    pub fn of(legal: &Function) -> LaunchShape {
        legal.launch.as_ref().map_or(LaunchShape { workgroup: [1; 3], ..LaunchShape::default() }, |launch| {
            LaunchShape { workgroup: launch.workgroup, cooperative: launch.cooperative, traps: launch.traps.is_some() }
        })
    }
}

/// A kernel for grids of the launch.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    pub entry: Entry,
    pub shape: LaunchShape,
    pub rendered: Rendered,
    /// Machine code, or the text.
    pub code: &'a [u8],
}

impl Packed<'_> {
    /// As bytes; none if a launch needs more than they can say.
    pub fn pack(entry: &Entry, shape: LaunchShape, rendered: &Rendered, code: &[u8]) -> Option<Vec<u8>> {
        let mut to = Packer::default();
        if rendered.launches != Launches::Direct || !rendered.shared.chosen.is_empty() || !entry.pack(&mut to) {
            return None;
        }
        shape.workgroup.iter().for_each(|n| {
            to.number(*n);
        });
        to.number(shape.cooperative).number(shape.traps);
        to.piece(&rendered.name).number(rendered.shared.fixed).number(rendered.shared.asked).piece(code);
        Some(to.finish())
    }

    /// From bytes.
    pub fn unpack(bytes: &[u8]) -> Option<Packed<'_>> {
        let mut from = Unpacker::new(bytes);
        let entry = Entry::unpack(&mut from)?;
        let workgroup = [from.small()?, from.small()?, from.small()?];
        let shape = LaunchShape { workgroup, cooperative: from.truth()?, traps: from.truth()? };
        let name = from.text()?.to_owned();
        let shared = SharedSize { fixed: from.small()?, asked: from.small()?, chosen: vec![] };
        let rendered = Rendered { name, shared, launches: Launches::Direct };
        let code = from.piece()?;
        from.end()?;
        Some(Packed { entry, shape, rendered, code })
    }
}
