//! Words and cells: what is known of them is known on the way, and a cell that is taken apart in the segment that made it never was one.

use super::code::{Content, Dev, Place, State, Val};
use super::evaluate::{Sweeper, unknown};
use super::known::Known;
use super::place::Stand;
use super::script::CallScript;
use crate::Refusal;
use crate::heap::cells::units;
use crate::word::as_word;
use girih_ir::heap::{self, CELL, NO_REUSE_TOKEN};
use girih_ir::{Inst, Op, Type, ValueId};

impl<'a> Sweeper<'a> {
    /// Whether an operation on words or cells looks at what an operand is on the device.
    fn looks(&self, f: &CallScript, op: Op, x: &[Val]) -> bool {
        let is_made = matches!(x.first().map(|val| val.dev), Some(Dev::Cell(_)));
        match op {
            Op::CellNew | Op::TermDrop | Op::CellFree => false,
            Op::CellFill => !matches!(x[0].known, Known::Hole { .. } | Known::Word(_)),
            Op::CellOpen => !is_made || !matches!(x[0].known, Known::Cell { owned: true, .. }),
            Op::CellGet => !is_made,
            Op::CellLayout => !matches!(x[0].known, Known::Cell { .. }),
            Op::TermTag => x[0].known.tag().is_none(),
            Op::TermShare => !matches!(x[0].dev, Dev::Result(..) | Dev::Shared(..)) && f.code.waits(x[0]),
            Op::TermPack | Op::TermPayload => false,
            _others => x.iter().any(|val| f.code.waits(*val)),
        }
    }

    pub fn heap(&mut self, f: &mut CallScript, inst: &Inst) -> Result<Vec<Val>, Refusal> {
        let mut x = self.gets(f, &inst.operands);
        if self.looks(f, inst.op, &x) {
            self.need(f, &inst.operands)?;
            x = self.gets(f, &inst.operands);
        }
        Ok(match inst.op {
            Op::TermPack => vec![self.pack(f, &x)],
            Op::TermTag => match x[0].known.tag() {
                Some(tag) => vec![Val { known: Known::Number(tag), dev: Dev::Literal }],
                None => {
                    let word = f.code.value(x[0], Type::Term);
                    let (seven, most) = (f.code.u32(7), f.code.u32(CELL));
                    let tag = f.code.op(Op::And, Type::U32, &[word, seven]);
                    vec![unknown(f.code.op(Op::Min, Type::U32, &[tag, most]))]
                }
            },
            Op::TermPayload => match x[0].known {
                Known::Word(word) => vec![Val { known: Known::Number(heap::payload(word)), dev: Dev::Nowhere }],
                _unknown => vec![self.word(f, Op::Shr, x[0], 3)],
            },
            Op::TermShare => {
                let shared = self.shared(f, x[0]);
                vec![shared, shared]
            }
            Op::TermDrop => {
                if let Dev::Cell(made) = x[0].dev {
                    self.unmake(f, made);
                }
                vec![]
            }
            Op::CellNew => {
                let layout = inst.cell().ok_or_else(no_layout)?;
                let fields = self.typed(f, inst, x);
                vec![self.made(f, None, layout, fields)]
            }
            Op::CellFill => self.fill(f, inst, x)?,
            Op::CellFree => {
                if let (Known::Hole { units, layout, .. }, 0) = (x[0].known, f.code.confined) {
                    f.code.spare.push((x[0], units, layout));
                }
                vec![]
            }
            Op::CellOpen => self.open(f, inst, x[0])?,
            Op::CellGet => vec![self.look(f, inst, x[0])?],
            Op::CellLayout => match (x[0].known, x[0].dev) {
                (Known::Cell { shape, .. }, _) => {
                    let layout = self.shapes.get(shape).layout;
                    vec![Val { known: Known::Number(layout.index() as u32), dev: Dev::Literal }]
                }
                _unknown => {
                    let word = f.code.value(x[0], Type::Term);
                    let index = f.code.safe_index(word);
                    let header = f.code.header(index);
                    let low = f.code.u32((1 << super::stores::SIZE) - 1);
                    vec![unknown(f.code.op(Op::And, Type::U32, &[header, low]))]
                }
            },
            _others => return Err(Refusal::new(format!("`{}` is not done in step", inst.op.name()))),
        })
    }

    /// An operation on a word and a constant.
    fn word(&mut self, f: &mut CallScript, op: Op, x: Val, constant: u32) -> Val {
        let inst = Inst::new(op, Some(Type::U32), &[], f.code.b.span);
        let constant = Val { known: Known::Number(constant), dev: Dev::Literal };
        f.code.operation(inst, None, vec![(x, Type::U32), (constant, Type::U32)], Type::U32)
    }

    fn pack(&mut self, f: &mut CallScript, x: &[Val]) -> Val {
        match (x[0].known, x[1].known) {
            (Known::Number(tag), Known::Number(payload)) => {
                let is_literal = x[1].dev == Dev::Literal;
                let dev = if is_literal { Dev::Literal } else { Dev::Nowhere };
                Val { known: Known::Word(heap::pack(tag, payload)), dev }
            }
            (Known::Number(tag), _) => {
                let high = self.word(f, Op::Shl, x[1], 3);
                let word = if tag == 0 { high } else { self.word(f, Op::Or, high, tag) };
                Val { known: if tag == CELL { Known::Unknown } else { Known::Tagged(tag) }, dev: word.dev }
            }
            _unknown => {
                let low = f.code.value(x[0], Type::U32);
                let payload = f.code.value(x[1], Type::U32);
                let three = f.code.u32(3);
                let high = f.code.op(Op::Shl, Type::U32, &[payload, three]);
                unknown(f.code.op(Op::Or, Type::U32, &[high, low]))
            }
        }
    }

    /// The operands of an instruction that become fields, with their types.
    fn typed(&self, f: &CallScript, inst: &Inst, x: Vec<Val>) -> Vec<(Val, Type)> {
        let function = self.function(f);
        let skipped = inst.operands.len() - x.len();
        x.into_iter().zip(&inst.operands[skipped..]).map(|(val, v)| (val, function.ty(*v))).collect()
    }
    /// A cell that is made. Where it will stand is not known before it does: see [`Sweeper::fresh`].
    fn made(
        &mut self,
        f: &mut CallScript,
        place: Option<Place>,
        layout: heap::LayoutId,
        fields: Vec<(Val, Type)>,
    ) -> Val {
        let units = place.map_or(units(fields.len()), |(_, units, _)| units);
        let shape = self.shapes.of(layout, Some(units), fields.iter().map(|(val, _)| val.known));
        let before = self.before(f, place);
        Val { known: Known::Cell { shape, owned: true, path: None }, dev: f.code.make(place, layout, fields, before) }
    }
    /// What stands in the memory that a cell is made in.
    pub fn before(&mut self, f: &CallScript, place: Option<Place>) -> Vec<Content> {
        let Some((Val { known: Known::Hole { was: Some((shape, path)), .. }, .. }, ..)) = place else {
            return vec![];
        };
        let fields = self.shapes.fields(shape, Some(path));
        let content = |known| match (known, self.shapes.address(known, f.level)) {
            (Known::Word(bits), _) => Content::Bits(bits),
            (_, Some(address)) => Content::Word(address),
            (_, None) => Content::Unknown,
        };
        fields.into_iter().map(content).collect()
    }

    /// A value that is known wholly.
    pub fn whole(&self, f: &mut CallScript, known: Known) -> Val {
        let dev = match known {
            Known::Number(_) | Known::Word(_) => Dev::Nowhere,
            _cell if !f.code.is_written => Dev::Here(f.code.u32(0)),
            Known::Linear { .. } => self.shapes.address(known, f.level).map_or(Dev::Nowhere, Dev::Linear),
            _cell => self.shapes.address(known, f.level).map_or(Dev::Nowhere, Dev::Placed),
        };
        debug_assert!(known.bits().is_some() || dev != Dev::Nowhere, "a place that cannot be said: {known:?}");
        Val { known, dev }
    }
    /// A value with what is known by now: cells that the segment has made stand somewhere as soon as they are in memory.
    pub fn fresh(&mut self, f: &mut CallScript, val: Val) -> Val {
        let val = f.code.found(val);
        let Dev::Cell(made) = val.dev else { return val };
        let cell = f.code.cells[made].clone();
        let standing = match (cell.state, cell.row, cell.place) {
            (State::Gone, ..) => None,
            (State::Stored(_), Some(first), _) => {
                Some((Stand::row(first, cell.units, f.level), self.shapes.paths.number(f.level)))
            }
            (_, _, Some((Val { known: Known::Hole { was: Some((shape, path)), .. }, .. }, ..))) => {
                self.shapes.get(shape).stand.clone().map(|stand| (stand, path))
            }
            (State::Stored(_) | State::Pending, ..) => None,
        };
        let fields: Vec<Known> = cell.fields.iter().map(|(val, _)| self.fresh(f, *val).known).collect();
        let Some(standing) = standing else {
            let shape = self.shapes.of(cell.layout, Some(cell.units), fields);
            return Val { known: Known::Cell { shape, owned: true, path: None }, dev: val.dev };
        };
        let known = self.shapes.standing((cell.layout, cell.units), standing, fields);
        match cell.state {
            State::Stored(dev) if f.code.is_written => Val { known, dev },
            State::Stored(_) | State::Pending | State::Gone => Val { known, dev: val.dev },
        }
    }

    fn fill(&mut self, f: &mut CallScript, inst: &Inst, mut x: Vec<Val>) -> Result<Vec<Val>, Refusal> {
        let layout = inst.cell().ok_or_else(no_layout)?;
        let hole = x.remove(0);
        let fields = self.typed(f, inst, x);
        let needed = units(fields.len());
        Ok(vec![match hole.known {
            Known::Word(NO_REUSE_TOKEN) => self.made(f, None, layout, fields),
            Known::Hole { units, layout: old, .. } if units >= needed => {
                self.made(f, Some((hole, units, old)), layout, fields)
            }
            Known::Hole { .. } => self.made(f, None, layout, fields),
            _unknown => {
                let shape = self.shapes.of(layout, None, fields.iter().map(|(val, _)| val.known));
                let values: Vec<(ValueId, Type)> =
                    fields.iter().map(|(val, ty)| (f.code.value(*val, *ty), as_word(*ty))).collect();
                let hole = f.code.value(hole, Type::Term);
                let word = f.code.refill(hole, layout, &values);
                Val { known: Known::Cell { shape, owned: true, path: None }, dev: Dev::Here(word) }
            }
        }])
    }

    fn open(&mut self, f: &mut CallScript, inst: &Inst, cell: Val) -> Result<Vec<Val>, Refusal> {
        let function = self.function(f);
        let types: Vec<Type> = inst.results[1..].iter().map(|v| function.ty(*v)).collect();
        if let (Dev::Cell(made), Known::Cell { owned: true, .. }) = (cell.dev, cell.known) {
            return Ok(self.unmake(f, made));
        }
        let layout = inst.cell().ok_or_else(no_layout)?;
        let cell = self.fresh(f, cell);
        let null = Val { known: Known::Word(NO_REUSE_TOKEN), dev: Dev::Literal };
        let Known::Cell { shape: id, owned, path } = cell.known else {
            let word = f.code.value(cell, Type::Term);
            let index = f.code.safe_index(word);
            let is_owned = f.code.is_owned(word);
            let none = f.code.u32(NO_REUSE_TOKEN);
            let mut given = vec![unknown(f.code.op(Op::Select, Type::U32, &[is_owned, word, none]))];
            for (i, ty) in (0..).zip(types) {
                let field = f.code.field(index, i, ty, false);
                given.push(if ty == Type::Term {
                    let shared = self.shared(f, unknown(field));
                    let shared = f.code.value(shared, ty);
                    unknown(f.code.op(Op::Select, Type::U32, &[is_owned, field, shared]))
                } else {
                    unknown(field)
                });
            }
            return Ok(given);
        };
        let shape = self.shapes.get(id).clone();
        if shape.layout != layout {
            return Err(Refusal::new("a cell of another layout"));
        }
        let hole = match (owned, shape.units, path) {
            (true, Some(units), Some(path)) => self.whole(f, Known::Hole { units, layout, was: Some((id, path)) }),
            (true, Some(units), None) => {
                Val { known: Known::Hole { units, layout, was: None }, dev: Dev::Here(f.code.value(cell, Type::Term)) }
            }
            (true, None, _) => unknown(f.code.value(cell, Type::Term)),
            (false, ..) => null,
        };
        let mut given = vec![hole];
        for ((i, ty), known) in (0..).zip(types).zip(self.shapes.fields(id, path)) {
            let known = self.shapes.sayable(known, f.level);
            if known.is_whole() {
                let field = self.whole(f, known);
                given.push(if owned { field } else { self.shared(f, field) });
                continue;
            }
            let index = f.code.reach(cell);
            let field = Val { known, dev: Dev::Here(f.code.field(index, i, ty, true)) };
            given.push(if owned || ty != Type::Term { field } else { self.shared(f, field) });
        }
        Ok(given)
    }

    /// Opens a cell that the segment has made.
    fn unmake(&mut self, f: &mut CallScript, made: usize) -> Vec<Val> {
        let cell = f.code.cells[made].clone();
        let null = Val { known: Known::Word(NO_REUSE_TOKEN), dev: Dev::Literal };
        let hole = match (cell.state, cell.place) {
            (State::Stored(dev), _) => {
                let made = Val { known: Known::Unknown, dev: Dev::Cell(made) };
                let was = match self.fresh(f, made).known {
                    Known::Cell { shape, path, .. } => path.map(|path| (shape, path)),
                    _gone => None,
                };
                Val { known: Known::Hole { units: cell.units, layout: cell.layout, was }, dev }
            }
            (_, Some((hole, ..))) => hole,
            (_, None) => null,
        };
        // What is in memory stays a cell for other arms of a choice.
        if cell.state == State::Pending {
            f.code.cells[made].state = State::Gone;
        }
        [hole].into_iter().chain(cell.fields.iter().map(|(val, _)| *val)).collect()
    }

    /// A field of a cell that stays.
    fn look(&mut self, f: &mut CallScript, inst: &Inst, cell: Val) -> Result<Val, Refusal> {
        let ty = inst.ty.unwrap_or(Type::U32);
        if ty == Type::Term {
            return Err(Refusal::new("a cell is looked into that stays"));
        }
        let field = inst.field();
        if let Dev::Cell(made) = cell.dev {
            return f.code.cells[made].fields.get(field as usize).map(|(val, _)| *val).ok_or_else(no_layout);
        }
        if matches!(cell.known, Known::Cell { .. }) {
            let index = f.code.reach(cell);
            return Ok(unknown(f.code.field(index, field, ty, true)));
        }
        let word = f.code.value(cell, Type::Term);
        let index = f.code.safe_index(word);
        Ok(unknown(f.code.field(index, field, ty, false)))
    }
}

fn no_layout() -> Refusal {
    Refusal::new("a cell without layout")
}
