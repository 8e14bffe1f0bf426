//! Recurrent networks, written out step by step.
//!
//! Invariant: a sequence that is shorter than others keeps its state after its last element, and gives zeros from there on.

use super::control::MOST_TURNS;
use super::pointwise::by;
use crate::call::Call;
use crate::error::operator;
use girih_tensor::{Made, NodeId, Number, Op, TensorType};

type Given = Made<Vec<NodeId>>;

/// A function of a gate.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Activation {
    fn apply(&self, call: &mut Call<'_, '_>, x: NodeId) -> Made<NodeId> {
        let (alpha, beta) = (|default: f64| self.alpha.unwrap_or(default), |default: f64| self.beta.unwrap_or(default));
        match self.name.to_ascii_lowercase().as_str() {
            "sigmoid" => call.op(Op::Sigmoid, &[x]),
            "tanh" => call.op(Op::Tanh, &[x]),
            "relu" => call.op(Op::Relu, &[x]),
            "softplus" => call.op(Op::Softplus, &[x]),
            "softsign" => {
                let size = call.op(Op::Abs, &[x])?;
                let below = by(call, Op::Add, size, 1.0)?;
                call.op(Op::Div, &[x, below])
            }
            "affine" => {
                let product = by(call, Op::Mul, x, alpha(1.0))?;
                by(call, Op::Add, product, beta(0.0))
            }
            "scaledtanh" => {
                let inner = by(call, Op::Mul, x, beta(1.0))?;
                let tanh = call.op(Op::Tanh, &[inner])?;
                by(call, Op::Mul, tanh, alpha(1.0))
            }
            "hardsigmoid" => {
                let product = by(call, Op::Mul, x, alpha(0.2))?;
                let sum = by(call, Op::Add, product, beta(0.5))?;
                let sum = by(call, Op::Max, sum, 0.0)?;
                by(call, Op::Min, sum, 1.0)
            }
            "leakyrelu" => {
                let (left, is_left) = (by(call, Op::Mul, x, alpha(0.01))?, by(call, Op::Lt, x, 0.0)?);
                call.op(Op::Where, &[is_left, left, x])
            }
            "thresholdedrelu" => {
                let (is_above, zero) = (by(call, Op::Gt, x, alpha(1.0))?, call.number(x, 0.0)?);
                call.op(Op::Where, &[is_above, x, zero])
            }
            "elu" => {
                let zero = call.number(x, 0.0)?;
                let inner = call.op(Op::Min, &[x, zero])?;
                let power = call.op(Op::Expm1, &[inner])?;
                let left = by(call, Op::Mul, power, alpha(1.0))?;
                let is_left = by(call, Op::Lt, x, 0.0)?;
                call.op(Op::Where, &[is_left, left, x])
            }
            other => Err(operator(format!("its activation `{other}` is not there"))),
        }
    }
}

/// What one direction of a network is made of.
struct Direction {
    /// [gates * hidden, features] and [gates * hidden, hidden], transposed.
    weights: NodeId,
    recurrence: NodeId,
    /// [1, gates * hidden], of the input and of the state.
    bias: Option<(NodeId, NodeId)>,
    /// [1, hidden] for the input, output and forget gates of an LSTM.
    peepholes: Option<[NodeId; 3]>,
    hidden: NodeId,
    cell: Option<NodeId>,
    activations: Vec<Activation>,
    is_backwards: bool,
}

/// The three kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Gru,
    Lstm,
}

impl Kind {
    fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Plain => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
    fn gates(self) -> u64 {
        match self {
            Kind::Plain => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }
}

/// What all steps share.
struct Settings {
    kind: Kind,
    width: u64,
    clip: Option<f64>,
    is_coupled: bool,
    resets_after: bool,
}

/// One slice of the first dimension, without it.
fn slice(call: &mut Call<'_, '_>, x: NodeId, at: u64) -> Made<NodeId> {
    let part = call.part(x, 0, at, at + 1)?;
    let shape = call.shape(part).without(&[0]);
    call.reshape(part, &shape)
}

pub fn network(call: &mut Call<'_, '_>, kind: Kind) -> Given {
    let batch_first = call.flag("layout", false)?;
    let turn = |call: &mut Call<'_, '_>, x: NodeId| if batch_first { swapped(call, x) } else { Ok(x) };
    let x = call.input(0)?;
    let x = turn(call, x)?;
    let [steps, batch, _features] = call.lengths(x)[..] else {
        return Err(operator("it needs [steps, batch, features]"));
    };
    let recurrence = call.input(2)?;
    let [directions, _, width] = call.lengths(recurrence)[..] else {
        return Err(operator("its weights have three dimensions"));
    };
    let direction = call.text("direction", "forward")?;
    let wanted = match direction.as_str() {
        "forward" | "reverse" => 1,
        "bidirectional" => 2,
        other => {
            let hint = "it is `forward`, `reverse` or `bidirectional`";
            return Err(operator(format!("its direction `{other}` is not there")).hint(hint));
        }
    };
    if directions != wanted {
        return Err(operator(format!(
            "its direction is `{direction}`, and its weights are for {directions} directions"
        )));
    }
    if !(1..=MOST_TURNS as u64).contains(&steps) {
        return Err(operator(format!("it is given {steps} steps, and is written out from 1 to {MOST_TURNS} times")));
    }
    let clip = if call.has("clip") { Some(call.float("clip", 0.0)?) } else { None };
    let (is_coupled, resets_after) = (call.flag("input_forget", false)?, call.flag("linear_before_reset", false)?);
    let settings = Settings { kind, width, clip, is_coupled, resets_after };
    let lengths = call.optional(4);
    let (mut all, mut last_hidden, mut last_cell) = (vec![], vec![], vec![]);
    for number in 0..directions {
        let is_backwards = direction == "reverse" || number == 1;
        let direction = read(call, &settings, number, batch, is_backwards, turn)?;
        let (states, hidden, cell) = run(call, &settings, &direction, x, steps, lengths)?;
        let mut rows = vec![];
        for state in states {
            rows.push(call.shaped(state, &[1, 1, batch, width])?);
        }
        all.push(call.at_axis(Op::Concat, &rows, 0)?);
        last_hidden.push(call.shaped(hidden, &[1, batch, width])?);
        if let Some(cell) = cell {
            last_cell.push(call.shaped(cell, &[1, batch, width])?);
        }
    }
    let y = call.at_axis(Op::Concat, &all, 1)?;
    let y = if batch_first { call.permute(y, &[2, 0, 1, 3])? } else { y };
    let hidden = call.at_axis(Op::Concat, &last_hidden, 0)?;
    let mut given = vec![y, turn(call, hidden)?];
    if !last_cell.is_empty() {
        let cell = call.at_axis(Op::Concat, &last_cell, 0)?;
        given.push(turn(call, cell)?);
    }
    Ok(given)
}
/// Batch and steps, or batch and directions, exchanged.
fn swapped(call: &mut Call<'_, '_>, x: NodeId) -> Made<NodeId> {
    call.permute(x, &[1, 0, 2])
}

fn read(
    call: &mut Call<'_, '_>,
    settings: &Settings,
    number: u64,
    batch: u64,
    is_backwards: bool,
    turn: impl Fn(&mut Call<'_, '_>, NodeId) -> Made<NodeId>,
) -> Made<Direction> {
    let Settings { kind, width, .. } = *settings;
    let (w, r) = (call.input(1)?, call.input(2)?);
    let (w, r) = (slice(call, w, number)?, slice(call, r, number)?);
    let (weights, recurrence) = (call.transpose(w)?, call.transpose(r)?);
    let gates = kind.gates() * width;
    let bias = match call.optional(3) {
        Some(bias) => {
            let bias = slice(call, bias, number)?;
            let (of_input, of_state) = (call.part(bias, 0, 0, gates)?, call.part(bias, 0, gates, 2 * gates)?);
            Some((call.shaped(of_input, &[1, gates])?, call.shaped(of_state, &[1, gates])?))
        }
        None => None,
    };
    let element = call.kind(w);
    let initial = |call: &mut Call<'_, '_>, input: usize| match call.optional(input) {
        Some(state) => {
            let state = turn(call, state)?;
            slice(call, state, number)
        }
        None => call.full(&TensorType::of(element, &[batch, width]), Number::Float(0.0)),
    };
    let hidden = initial(call, 5)?;
    let cell = if kind == Kind::Lstm { Some(initial(call, 6)?) } else { None };
    let peepholes = match call.optional(7).filter(|_| kind == Kind::Lstm) {
        Some(all) => {
            let all = slice(call, all, number)?;
            let mut three = vec![];
            for gate in 0..3 {
                let one = call.part(all, 0, gate * width, (gate + 1) * width)?;
                three.push(call.shaped(one, &[1, width])?);
            }
            <[NodeId; 3]>::try_from(three).ok()
        }
        None => None,
    };
    let count = kind.activations().len();
    let names = call.texts("activations")?.unwrap_or_default();
    let (alphas, betas) = (call.floats("activation_alpha")?, call.floats("activation_beta")?);
    let activation = |at: usize| {
        let place = number as usize * count + at;
        let own = names.get(place).or_else(|| names.get(at));
        let name = own.map_or_else(|| kind.activations()[at].to_owned(), String::clone);
        let of = |all: &Option<Vec<f64>>| all.as_ref().and_then(|all| all.get(place).copied());
        Activation { name, alpha: of(&alphas), beta: of(&betas) }
    };
    let activations = (0..count).map(activation).collect();
    Ok(Direction { weights, recurrence, bias, peepholes, hidden, cell, activations, is_backwards })
}

type Ran = (Vec<NodeId>, NodeId, Option<NodeId>);

/// The states after each step, and the last ones.
fn run(
    call: &mut Call<'_, '_>,
    settings: &Settings,
    direction: &Direction,
    x: NodeId,
    steps: u64,
    lengths: Option<NodeId>,
) -> Made<Ran> {
    let (mut hidden, mut cell) = (direction.hidden, direction.cell);
    let mut states = vec![];
    for step in 0..steps {
        let at = if direction.is_backwards { steps - 1 - step } else { step };
        let now = slice(call, x, at)?;
        let mut from_input = call.op(Op::Matmul, &[now, direction.weights])?;
        if let Some((bias, _)) = direction.bias {
            from_input = call.binary(Op::Add, from_input, bias)?;
        }
        let (next, next_cell) = match settings.kind {
            Kind::Plain => (plain(call, settings, direction, from_input, hidden)?, None),
            Kind::Gru => (gru(call, settings, direction, from_input, hidden)?, None),
            Kind::Lstm => {
                let cell = cell.ok_or_else(|| operator("it has no cell"))?;
                let (hidden, cell) = lstm(call, settings, direction, from_input, hidden, cell)?;
                (hidden, Some(cell))
            }
        };
        let mut shown = next;
        let inside = match lengths {
            Some(lengths) => {
                let number = by(call, Op::Gt, lengths, at as f64)?;
                let batch = call.shape(number).elements();
                Some(call.shaped(number, &[batch, 1])?)
            }
            None => None,
        };
        hidden = match inside {
            Some(inside) => {
                let zero = call.number(next, 0.0)?;
                shown = call.choose(inside, next, zero)?;
                call.choose(inside, next, hidden)?
            }
            None => next,
        };
        cell = match (inside, next_cell, cell) {
            (Some(inside), Some(next), Some(before)) => Some(call.choose(inside, next, before)?),
            (_, next, _) => next,
        };
        states.push(shown);
    }
    if direction.is_backwards {
        states.reverse();
    }
    Ok((states, hidden, cell))
}

fn clipped(call: &mut Call<'_, '_>, settings: &Settings, x: NodeId) -> Made<NodeId> {
    let Some(clip) = settings.clip else { return Ok(x) };
    let x = by(call, Op::Max, x, -clip)?;
    by(call, Op::Min, x, clip)
}
/// A state times its weights, plus the bias.
fn from_state(call: &mut Call<'_, '_>, direction: &Direction, state: NodeId) -> Made<NodeId> {
    let product = call.op(Op::Matmul, &[state, direction.recurrence])?;
    match direction.bias {
        Some((_, bias)) => call.binary(Op::Add, product, bias),
        None => Ok(product),
    }
}
/// The part of gate number `gate`.
fn gate(call: &mut Call<'_, '_>, settings: &Settings, all: NodeId, gate: u64) -> Made<NodeId> {
    call.part(all, 1, gate * settings.width, (gate + 1) * settings.width)
}

fn plain(
    call: &mut Call<'_, '_>,
    settings: &Settings,
    direction: &Direction,
    from_input: NodeId,
    hidden: NodeId,
) -> Made<NodeId> {
    let before = from_state(call, direction, hidden)?;
    let sum = call.op(Op::Add, &[from_input, before])?;
    let sum = clipped(call, settings, sum)?;
    direction.activations[0].apply(call, sum)
}
fn gru(
    call: &mut Call<'_, '_>,
    settings: &Settings,
    direction: &Direction,
    from_input: NodeId,
    hidden: NodeId,
) -> Made<NodeId> {
    let before = from_state(call, direction, hidden)?;
    let mut opened = vec![];
    for number in 0..2 {
        let (a, b) = (gate(call, settings, from_input, number)?, gate(call, settings, before, number)?);
        let sum = call.op(Op::Add, &[a, b])?;
        let sum = clipped(call, settings, sum)?;
        opened.push(direction.activations[0].apply(call, sum)?);
    }
    let (update, reset) = (opened[0], opened[1]);
    let candidate = gate(call, settings, from_input, 2)?;
    let rest = if settings.resets_after {
        let rest = gate(call, settings, before, 2)?;
        call.op(Op::Mul, &[reset, rest])?
    } else {
        let kept = call.op(Op::Mul, &[reset, hidden])?;
        let rest = from_state(call, direction, kept)?;
        gate(call, settings, rest, 2)?
    };
    let sum = call.op(Op::Add, &[candidate, rest])?;
    let sum = clipped(call, settings, sum)?;
    let candidate = direction.activations[1].apply(call, sum)?;
    let difference = call.op(Op::Sub, &[hidden, candidate])?;
    let moved = call.op(Op::Mul, &[update, difference])?;
    call.op(Op::Add, &[candidate, moved])
}
/// Gates in the order input, output, forget, cell.
fn lstm(
    call: &mut Call<'_, '_>,
    settings: &Settings,
    direction: &Direction,
    from_input: NodeId,
    hidden: NodeId,
    cell: NodeId,
) -> Made<(NodeId, NodeId)> {
    let before = from_state(call, direction, hidden)?;
    let all = call.op(Op::Add, &[from_input, before])?;
    let opened = |call: &mut Call<'_, '_>, number: u64, seen: Option<(NodeId, usize)>, activation: usize| {
        let mut sum = gate(call, settings, all, number)?;
        if let (Some((cell, which)), Some(peepholes)) = (seen, direction.peepholes) {
            let seen = call.binary(Op::Mul, cell, peepholes[which])?;
            sum = call.op(Op::Add, &[sum, seen])?;
        }
        let sum = clipped(call, settings, sum)?;
        direction.activations[activation].apply(call, sum)
    };
    let input = opened(call, 0, Some((cell, 0)), 0)?;
    let forget = if settings.is_coupled {
        let one = call.number(input, 1.0)?;
        call.op(Op::Sub, &[one, input])?
    } else {
        opened(call, 2, Some((cell, 2)), 0)?
    };
    let candidate = opened(call, 3, None, 1)?;
    let (kept, new) = (call.op(Op::Mul, &[forget, cell])?, call.op(Op::Mul, &[input, candidate])?);
    let next = call.op(Op::Add, &[kept, new])?;
    let output = opened(call, 1, Some((next, 1)), 0)?;
    let shown = direction.activations[2].apply(call, next)?;
    Ok((call.op(Op::Mul, &[output, shown])?, next))
}
