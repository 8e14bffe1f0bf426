//! Writes the loop: it carries a chain for each result that grows, which field of it is open if that differs, and whether results stand
//! exchanged if they ever do. Behind it, what it gives is put into the chains, once for all of its ends.

use super::super::add_results;
use super::{Found, Site, Way};
use girih_ir::attrs::Attr;
use girih_ir::heap::U24;
use girih_ir::{Def, Function, FunctionId, Inst, Op, RegionId, Type, Value, ValueId};

/// What an iteration has besides the parameters.
#[derive(Clone, Debug)]
struct State {
    /// By result: the chain that it goes into, if it grows.
    chains: Vec<Option<Chain>>,
    /// Not 0 if results stand exchanged.
    exchanged: Option<ValueId>,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    word: ValueId,
    /// The field that is open.
    open: ValueId,
}

/// Has a function's loop carry chains.
pub(super) fn rewrite(
    function: &mut Function,
    id: FunctionId,
    found: &Found,
    results: impl Fn(FunctionId) -> Vec<Type>,
) {
    let mut writer = Writer { function, found };
    let initial = writer.initial();
    let values = writer.values(&initial);
    let body = writer.function.insts[found.around].regions[0];
    let types: Vec<Type> = values.iter().map(|value| writer.function.ty(*value)).collect();
    let first = writer.function.regions[body].params.len() as u32;
    let params: Vec<ValueId> = (first..)
        .zip(&types)
        .map(|(i, ty)| writer.function.values.push(Value { ty: *ty, name: None, def: Def::Argument(body, i) }))
        .collect();
    writer.function.regions[body].params.extend(&params);
    writer.function.insts[found.around].operands.extend(values);
    let state = writer.state(&initial, &params);
    for region in &found.regions {
        writer.end(id, *region, &state, &results);
    }
    let given: Vec<ValueId> = writer.function.insts[found.around].results.to_vec();
    let carried = add_results(writer.function, found.around, &types);
    let last = writer.state(&initial, &carried);
    writer.finish(&given, &last);
}

struct Writer<'a> {
    function: &'a mut Function,
    found: &'a Found,
}

impl Writer<'_> {
    /// Appends an instruction to a region.
    fn push(&mut self, region: RegionId, inst: Inst, types: &[Type]) -> Vec<ValueId> {
        let inst = self.function.insts.push(inst);
        self.function.regions[region].insts.push(inst);
        add_results(self.function, inst, types)
    }
    fn inst(&self, op: Op, operands: &[ValueId]) -> Inst {
        Inst::new(op, None, operands, self.function.span)
    }
    fn u32(&mut self, number: u32) -> ValueId {
        self.function.constant(Type::U32, number.into())
    }

    /// What the first iteration begins with: chains without cells. They are made before the loop.
    fn initial(&mut self) -> State {
        let body = self.function.body;
        let after = std::mem::take(&mut self.function.regions[body].insts);
        let open = self.u32(self.found.field.unwrap_or(0));
        let mut chains = vec![];
        for grows in &self.found.grows {
            chains.push(grows.then(|| {
                let word = self.push(body, self.inst(Op::ChainNew, &[]), &[Type::Term])[0];
                Chain { word, open }
            }));
        }
        self.function.regions[body].insts.extend(after);
        let exchanged = self.found.exchange.is_some().then(|| self.u32(0));
        State { chains, exchanged }
    }

    /// What of a state is carried.
    fn values(&self, state: &State) -> Vec<ValueId> {
        let mut values = vec![];
        for chain in state.chains.iter().flatten() {
            values.push(chain.word);
            values.extend(self.found.field.is_none().then_some(chain.open));
        }
        values.extend(state.exchanged);
        values
    }
    /// The state whose carried values are these.
    fn state(&self, like: &State, carried: &[ValueId]) -> State {
        let mut state = like.clone();
        let mut carried = carried.iter().copied();
        for chain in state.chains.iter_mut().flatten() {
            chain.word = carried.next().unwrap_or(chain.word);
            if self.found.field.is_none() {
                chain.open = carried.next().unwrap_or(chain.open);
            }
        }
        state.exchanged = state.exchanged.and_then(|_| carried.next());
        state
    }

    /// Changes how a region ends.
    fn end(&mut self, id: FunctionId, region: RegionId, state: &State, results: &impl Fn(FunctionId) -> Vec<Type>) {
        let Some(last) = self.function.regions[region].insts.pop() else { return };
        let Inst { op, operands, .. } = &self.function.insts[last];
        let (op, mut values, callee) = (*op, operands.to_vec(), self.function.insts[last].callee());
        let site = self.found.sites.iter().find(|site| site.region == region);
        let (op, state) = match (op, site) {
            (Op::Break | Op::Return, Some(site)) => {
                values = self.function.insts[site.call].operands.to_vec();
                (Op::Continue, self.grow(site, state))
            }
            (Op::Break | Op::Return, None) => (Op::Break, state.clone()),
            (Op::Continue, _) => (Op::Continue, state.clone()),
            (Op::Tail, _) if callee == Some(id) => (Op::Continue, state.clone()),
            (Op::Tail, _) => {
                let Inst { attrs, span, .. } = self.function.insts[last].clone();
                let call = Inst { attrs, ..Inst::new(Op::Call, None, &values, span) };
                values = self.push(region, call, &callee.map(results).unwrap_or_default());
                (Op::Break, state.clone())
            }
            _no_rule => return self.function.regions[region].insts.push(last),
        };
        values.extend(self.values(&state));
        let span = self.function.insts[last].span;
        self.push(region, Inst::new(op, None, &values, span), &[]);
    }

    /// The state behind a call that becomes the next iteration, whose cells have open fields then.
    fn grow(&mut self, site: &Site, state: &State) -> State {
        let region = site.region;
        let insts = &mut self.function.regions[region].insts;
        let at = insts.iter().position(|inst| *inst == site.call).unwrap_or(insts.len());
        let mut behind = insts.split_off(at);
        behind.retain(|inst| *inst != site.call);
        if site.ways.iter().any(|way| !way.links.is_empty()) {
            let (tag, zero) = (self.u32(U24), self.u32(0));
            let word = self.push(region, self.inst(Op::TermPack, &[tag, zero]), &[Type::Term])[0];
            for link in site.ways.iter().flat_map(|way| &way.links) {
                let cell = &mut self.function.insts[link.cell];
                cell.operands[link.field as usize + usize::from(cell.op == Op::CellFill)] = word;
            }
        }
        self.function.regions[region].insts.extend(behind);
        let grown = |writer: &mut Self, way: &Way| Some(writer.chain(region, state.chains[way.to]?, way));
        let chains = site.ways.iter().map(|way| grown(self, way)).collect();
        let exchanged = match state.exchanged {
            Some(before) if site.exchanges() => {
                let one = self.u32(1);
                let inst = Inst { ty: Some(Type::U32), ..self.inst(Op::Xor, &[before, one]) };
                Some(self.push(region, inst, &[Type::U32])[0])
            }
            same => same,
        };
        State { chains, exchanged }
    }

    /// A chain with the cells of a way.
    fn chain(&mut self, region: RegionId, chain: Chain, way: &Way) -> Chain {
        way.links.iter().fold(chain, |Chain { word, open }, link| {
            let Inst { attrs, span, results, .. } = &self.function.insts[link.cell];
            let layout = attrs.iter().find(|attr| matches!(attr, Attr::Cell(_))).cloned();
            let mut inst = Inst::new(Op::ChainGrow, None, &[word, open, results[0]], *span);
            layout.into_iter().chain([Attr::Field(link.field)]).for_each(|attr| inst.set(attr));
            let word = self.push(region, inst, &[Type::Term])[0];
            Chain { word, open: self.u32(link.field) }
        })
    }

    /// What stands behind the loop.
    fn finish(&mut self, given: &[ValueId], state: &State) {
        let body = self.function.body;
        let Some(end) = self.function.regions[body].insts.pop() else { return };
        let mut values = vec![];
        for (value, chain) in given.iter().zip(&state.chains) {
            values.push(match chain {
                Some(Chain { word, open }) => {
                    self.push(body, self.inst(Op::ChainEnd, &[*word, *open, *value]), &[Type::Term])[0]
                }
                None => *value,
            });
        }
        if let (Some(exchanged), Some(places)) = (state.exchanged, &self.found.exchange) {
            values = self.exchange(exchanged, places, &values);
        }
        self.function.insts[end].operands = values.into_iter().collect();
        self.function.regions[body].insts.push(end);
    }

    /// Results in the places where they belong.
    fn exchange(&mut self, exchanged: ValueId, places: &[usize], values: &[ValueId]) -> Vec<ValueId> {
        let body = self.function.body;
        let zero = self.u32(0);
        let inst = Inst { ty: Some(Type::U32), ..self.inst(Op::Ne, &[exchanged, zero]) };
        let condition = self.push(body, inst, &[Type::BOOL])[0];
        let other: Vec<ValueId> = places.iter().map(|place| values[*place]).collect();
        let mut choice = self.inst(Op::If, &[condition]);
        for values in [&other[..], values] {
            let region = self.function.regions.push(Default::default());
            self.push(region, self.inst(Op::Yield, values), &[]);
            choice.regions.push(region);
        }
        let types: Vec<Type> = values.iter().map(|value| self.function.ty(*value)).collect();
        self.push(body, choice, &types)
    }
}
