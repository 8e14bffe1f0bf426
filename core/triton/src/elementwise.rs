//! `tl.map_elementwise`: a function of numbers on each element of tiles.
//!
//! Invariant: the function is compiled once, as the region of one operation; with `pack`, it is given that many neighbours of the last dimension at once.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Inst, Op, Shape, Type};

/// `tl.map_elementwise(scalar_fn, *args, pack=1)`.
pub(super) fn map_elementwise(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let pack = body.constant_int(a.value(2), "`pack`", a.span(2))?;
    let Some(pack) = usize::try_from(pack).ok().filter(|pack| pack.is_power_of_two()) else {
        return body.fail(Code::KernelArgument, a.span(2), "`pack` is a power of two", "");
    };
    let mut tiles = vec![];
    let mut shape = None;
    for value in a.starred() {
        let tensor = body.tensor(value, a.call)?;
        shape = body.common_shape(shape, tensor.shape(), a.call)?;
        tiles.push(tensor);
    }
    if tiles.is_empty() {
        return body.fail(Code::KernelArgument, a.call, "`map_elementwise` takes at least one tile", "");
    }
    let mut operands = vec![];
    for tile in tiles {
        let tile = body.broadcast_tensor(tile, shape);
        operands.extend(body.neighbours(tile, pack, a.call)?);
    }
    let (results, is_single) = body.mapped(a.value(0), &operands, a.call)?;
    if results.len() % pack != 0 {
        let message = format!("the function gives {} values, which is no multiple of {pack}", results.len());
        return body.fail(Code::KernelArgument, a.call, message, "it gives one value for each element of a pack");
    }
    let mut whole = vec![];
    for pieces in results.chunks(pack) {
        whole.push(Value::Tensor(body.side_by_side(pieces.to_vec(), shape, a.call)?));
    }
    Ok(match &whole[..] {
        [one] if is_single => one.clone(),
        _several => Value::Tuple(whole),
    })
}

impl Body<'_, '_> {
    /// The elements of each pack of neighbours: the first ones, the second ones, and so on.
    pub(super) fn neighbours(&mut self, tile: Tensor, pack: usize, span: Span) -> Made<Vec<Tensor>> {
        if pack == 1 {
            return Ok(vec![tile]);
        }
        let mut lengths: Vec<i128> = tile.shape().map_or(vec![], Shape::to_vec).into_iter().map(i128::from).collect();
        let Some(last) = lengths.last_mut().filter(|last| **last >= pack as i128) else {
            let message = format!("the last dimension of {} has no packs of {pack}", Self::shown(tile.shape()));
            return self.fail(Code::KernelShape, span, message, "");
        };
        *last /= pack as i128;
        lengths.extend([2].repeat(pack.ilog2() as usize));
        let shape = self.shape_of(&lengths, span)?;
        // The last dimension tells the neighbours apart that are one apart.
        let mut pieces = vec![self.reshape_tensor(tile, shape, span)?];
        for _ in 0..pack.ilog2() {
            let halves = pieces.into_iter().map(|piece| self.both_halves(piece)).collect::<Vec<_>>();
            pieces = (0..2).flat_map(|side| halves.iter().map(move |halves| halves[side])).collect();
        }
        Ok(pieces)
    }

    fn both_halves(&mut self, tile: Tensor) -> [Tensor; 2] {
        let half = tile.ty.half().unwrap_or(tile.ty);
        let id = self.b.op_with(Op::TileSplit, Some(tile.ty), &[tile.value], &[]);
        let results = &self.b.function.insts[id].results;
        [0, 1].map(|side| Tensor { value: results[side], ty: half })
    }

    /// Undoes [`Body::neighbours`].
    pub(super) fn side_by_side(&mut self, mut pieces: Vec<Tensor>, shape: Option<Shape>, span: Span) -> Made<Tensor> {
        while pieces.len() > 1 {
            let half = pieces.len() / 2;
            let mut joined = vec![];
            for (one, other) in pieces[..half].iter().zip(&pieces[half..]) {
                if one.ty != other.ty {
                    return self.fail(Code::KernelType, span, "the values of a pack have different types", "");
                }
                let mut lengths: Vec<i128> =
                    one.shape().map_or(vec![], Shape::to_vec).into_iter().map(i128::from).collect();
                lengths.push(2);
                let ty = Type::block(self.shape_of(&lengths, span)?, one.element());
                joined.push(self.op(Op::TileJoin, ty, &[one.value, other.value]));
            }
            pieces = joined;
        }
        self.reshape_tensor(pieces[0], shape, span)
    }

    /// A function on each element of tiles of one shape; whether it gives one value, no tuple.
    fn mapped(&mut self, function: &Value, operands: &[Tensor], span: Span) -> Made<(Vec<Tensor>, bool)> {
        let shape = operands[0].shape();
        let params: Vec<Type> = operands.iter().map(|t| Type::Scalar(t.element())).collect();
        let region = self.b.new_region(&params);
        let values = self.b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut self.b.region, region);
        let given = self.results_for(function, values.into_iter().zip(params), span);
        if let Ok((results, _)) = &given {
            let values: Vec<_> = results.iter().map(|t| t.value).collect();
            self.b.end(Op::Yield, &values);
        }
        self.b.region = outer;
        let (results, is_single) = given?;
        let mut inst = Inst::new(Op::TileMap, None, &operands.iter().map(|t| t.value).collect::<Vec<_>>(), span);
        inst.regions = [region].into_iter().collect();
        let types: Vec<Type> = results.iter().map(|t| Type::block(shape, t.element())).collect();
        let id = self.b.push(inst, &types);
        let values = self.b.function.insts[id].results.clone();
        Ok((values.into_iter().zip(types).map(|(value, ty)| Tensor { value, ty }).collect(), is_single))
    }

    fn results_for(
        &mut self,
        function: &Value,
        params: impl Iterator<Item = (girih_ir::ValueId, Type)>,
        span: Span,
    ) -> Made<(Vec<Tensor>, bool)> {
        let given = params.map(|(value, ty)| Value::Tensor(Tensor { value, ty })).collect();
        let (items, is_single) = match self.call_value(function, given, span)? {
            Value::Tuple(items) => (items, false),
            one => (vec![one], true),
        };
        let results = items.iter().map(|item| self.tensor(item, span)).collect::<Made<Vec<Tensor>>>()?;
        if results.iter().any(|t| t.shape().is_some()) {
            return self.fail(Code::KernelShape, span, "the function gives a tile for an element", "");
        }
        Ok((results, is_single))
    }
}
