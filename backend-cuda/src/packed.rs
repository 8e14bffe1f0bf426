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

/// One form of a kernel: for grids of the launch, or for grids in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form<'a> {
    pub rendered: Rendered,
    pub code: FormCode<'a>,
}

/// A form's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormCode<'a> {
    Machine(&'a [u8]),
    /// PTX, for a form that is made when it is first used.
    Text(&'a str),
}

/// A kernel in its forms.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    pub entry: Entry,
    pub shape: LaunchShape,
    pub forms: Vec<Form<'a>>,
}

impl Packed<'_> {
    /// As bytes; none if a launch needs more than they can say.
    pub fn pack(entry: &Entry, shape: LaunchShape, forms: &[Form<'_>]) -> Option<Vec<u8>> {
        let mut to = Packer::default();
        if forms.iter().any(|form| !form.rendered.shared.chosen.is_empty()) || !entry.pack(&mut to) {
            return None;
        }
        shape.workgroup.iter().for_each(|n| {
            to.number(*n);
        });
        to.number(shape.cooperative).number(shape.traps);
        to.list(forms, |to, Form { rendered, code }| {
            to.piece(&rendered.name).number(rendered.shared.fixed).number(rendered.shared.asked);
            to.number(rendered.launches == Launches::Indirect);
            match code {
                FormCode::Machine(code) => to.number(false).piece(code),
                FormCode::Text(text) => to.number(true).piece(text),
            };
        });
        Some(to.finish())
    }

    /// From bytes.
    pub fn unpack(bytes: &[u8]) -> Option<Packed<'_>> {
        let mut from = Unpacker::new(bytes);
        let entry = Entry::unpack(&mut from)?;
        let workgroup = [from.small()?, from.small()?, from.small()?];
        let shape = LaunchShape { workgroup, cooperative: from.truth()?, traps: from.truth()? };
        let forms = from.list(|from| {
            let name = from.text()?.to_owned();
            let shared = SharedSize { fixed: from.small()?, asked: from.small()?, chosen: vec![] };
            let launches = if from.truth()? { Launches::Indirect } else { Launches::Direct };
            let code = if from.truth()? { FormCode::Text(from.text()?) } else { FormCode::Machine(from.piece()?) };
            Some(Form { rendered: Rendered { name, shared, launches }, code })
        })?;
        from.end()?;
        Some(Packed { entry, shape, forms })
    }
}
