//! The one table of operations that kernels call: names, parameters, and which function writes them.
//!
//! A row's parameters are written as Python has them; a call is bound by them before the row's function sees it. Methods of tensors are the same
//! rows, whose first argument is the tensor.

use super::body::{Body, Made};
use super::value::{Placed, Tensor, Value};
use super::written::{self, Written};
use super::{
    assembly, atomics, blocks, classes, combine, compile_time, dtypes, elementwise, extremes, library, memory,
    promises, random, shape,
};
use crate::python_builtins;
use girih_base::diag::{Code, did_you_mean};
use girih_base::span::Span;
use girih_ir::{Op, Shape};

/// What writes an operation.
#[derive(Clone, Copy)]
pub(super) enum BuiltinWriter {
    /// A function of its own.
    Call(fn(&mut Body<'_, '_>, &Arguments) -> Made<Value>),
    /// A function of floats, by element.
    Float(Op),
    /// A function in Triton's own Python.
    Written(Written),
    /// It is not available, and why.
    Refused(&'static str),
}

/// A row.
pub(super) struct Builtin {
    pub name: &'static str,
    /// Parameters with their defaults; one with a star takes what is left, one with two what is left of named arguments.
    pub parameters: &'static str,
    pub writer: BuiltinWriter,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Bound arguments of a call.
pub(super) struct Arguments {
    values: Vec<Placed>,
    /// What a starred parameter took.
    rest: Vec<Value>,
    /// Where the call stands.
    pub call: Span,
}

impl Arguments {
    pub(super) fn value(&self, i: usize) -> &Value {
        self.values.get(i).map_or(&Value::None, |placed| &placed.value)
    }
    pub(super) fn span(&self, i: usize) -> Span {
        self.values.get(i).map_or(self.call, |placed| placed.span)
    }
    pub(super) fn tensor(&self, body: &mut Body<'_, '_>, i: usize) -> Made<Tensor> {
        body.tensor(self.value(i), self.span(i))
    }
    pub(super) fn shape(&self, body: &Body<'_, '_>, i: usize) -> Made<Option<Shape>> {
        let lengths = body.constant_ints(self.value(i), "a length of a shape", self.span(i))?;
        body.shape_of(&lengths, self.span(i))
    }
    /// Values from a place on, given as a tuple or one by one.
    pub(super) fn rest(&self, i: usize) -> Value {
        match self.value(i) {
            Value::None if self.rest.is_empty() => Value::Tuple(vec![]),
            Value::None => match &self.rest[..] {
                [Value::Tuple(items)] => Value::Tuple(items.clone()),
                items => Value::Tuple(items.to_vec()),
            },
            given => given.clone(),
        }
    }
    /// All of them, in the order of the parameters.
    pub(super) fn all(&self) -> &[Placed] {
        &self.values
    }
    /// What a starred parameter took, one by one.
    pub(super) fn starred(&self) -> &[Value] {
        &self.rest
    }
    pub(super) fn rest_shape(&self, body: &Body<'_, '_>, i: usize) -> Made<Option<Shape>> {
        let lengths = body.constant_ints(&self.rest(i), "a length of a shape", self.call)?;
        body.shape_of(&lengths, self.call)
    }
    pub(super) fn flag(&self, body: &Body<'_, '_>, i: usize, what: &str) -> Made<bool> {
        body.constant_bool(self.value(i), what, self.span(i))
    }
}

const fn row(name: &'static str, parameters: &'static str, writer: BuiltinWriter) -> Builtin {
    Builtin { name, parameters, writer }
}
const fn call(
    name: &'static str,
    parameters: &'static str,
    write: fn(&mut Body<'_, '_>, &Arguments) -> Made<Value>,
) -> Builtin {
    row(name, parameters, BuiltinWriter::Call(write))
}
const fn float(name: &'static str, op: Op) -> Builtin {
    row(name, "x", BuiltinWriter::Float(op))
}
const fn refused(name: &'static str, why: &'static str) -> Builtin {
    row(name, "*args", BuiltinWriter::Refused(why))
}

const ATOMIC: &str = "pointer, val, mask=None, sem=None, scope=None";
const CARD: &str = "it works only on one vendor's cards";

/// All operations.
pub(super) static TABLE: &[Builtin] = &[
    call("program_id", "axis", library::program_id),
    call("num_programs", "axis", library::num_programs),
    call("arange", "start, end", shape::arange),
    call("zeros", "shape, dtype", shape::zeros),
    call("zeros_like", "input", shape::zeros_like),
    call("full", "shape, value, dtype", shape::full),
    call("cat", "a, b, can_reorder=False, dim=0", shape::cat),
    call("cast", "input, dtype, fp_downcast_rounding=None, bitcast=False", shape::cast),
    call("to", "input, dtype, fp_downcast_rounding=None, bitcast=False", shape::cast),
    call("broadcast_to", "input, *shape", shape::broadcast_to),
    call("broadcast", "a, b", shape::broadcast),
    call("expand_dims", "input, axis", shape::expand_dims),
    call("reshape", "input, *shape, can_reorder=False", shape::reshape),
    call("view", "input, *shape", shape::reshape),
    call("ravel", "input, can_reorder=False", shape::ravel),
    call("trans", "input, *dims", shape::trans),
    call("permute", "input, *dims", shape::trans),
    call("join", "a, b", shape::join),
    call("split", "a", shape::split),
    call("interleave", "a, b", shape::interleave),
    call("gather", "src, index, axis", shape::gather),
    call("flip", "x, dim=None", shape::flip),
    call(
        "load",
        "pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', eviction_policy='', volatile=False",
        memory::load,
    ),
    call("store", "pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy=''", memory::store),
    call("make_block_ptr", "base, shape, strides, offsets, block_shape, order", blocks::make_block_ptr),
    call("advance", "base, offsets", blocks::advance),
    call("make_tensor_descriptor", "base, shape, strides, block_shape, padding_option='zero'", blocks::make_descriptor),
    call("load_tensor_descriptor", "desc, offsets", blocks::descriptor_load),
    call("gather_tensor_descriptor", "desc, x_offsets, y_offset", blocks::descriptor_gather),
    call("scatter_tensor_descriptor", "desc, value, x_offsets, y_offset", blocks::descriptor_scatter),
    call("store_tensor_descriptor", "desc, offsets, value", blocks::descriptor_store),
    call("atomic_add_tensor_descriptor", "desc, offsets, value", blocks::descriptor_add),
    call("atomic_max_tensor_descriptor", "desc, offsets, value", blocks::descriptor_max),
    call("atomic_min_tensor_descriptor", "desc, offsets, value", blocks::descriptor_min),
    call("atomic_and_tensor_descriptor", "desc, offsets, value", blocks::descriptor_and),
    call("atomic_or_tensor_descriptor", "desc, offsets, value", blocks::descriptor_or),
    call("atomic_xor_tensor_descriptor", "desc, offsets, value", blocks::descriptor_xor),
    call("atomic_add", ATOMIC, atomics::atomic_add),
    call("atomic_max", ATOMIC, atomics::atomic_max),
    call("atomic_min", ATOMIC, atomics::atomic_min),
    call("atomic_and", ATOMIC, atomics::atomic_and),
    call("atomic_or", ATOMIC, atomics::atomic_or),
    call("atomic_xor", ATOMIC, atomics::atomic_xor),
    call("atomic_xchg", ATOMIC, atomics::atomic_exchange),
    call("atomic_cas", "pointer, cmp, val, sem=None, scope=None", atomics::atomic_cas),
    call(
        "dot",
        "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None",
        combine::dot,
    ),
    call("sum", "input, axis=None, keep_dims=False, dtype=None", combine::sum),
    call(
        "max",
        "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        combine::max,
    ),
    call(
        "min",
        "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        combine::min,
    ),
    call("argmax", "input, axis, tie_break_left=True, keep_dims=False", combine::argmax),
    call("argmin", "input, axis, tie_break_left=True, keep_dims=False", combine::argmin),
    call("xor_sum", "input, axis=None, keep_dims=False", combine::xor_sum),
    call("reduce_or", "input, axis, keep_dims=False", combine::reduce_or),
    call("reduce", "input, axis, combine_fn, keep_dims=False", combine::reduce),
    call("cumsum", "input, axis=0, reverse=False, dtype=None", combine::cumsum),
    call("cumprod", "input, axis=0, reverse=False", combine::cumprod),
    call("associative_scan", "input, axis, combine_fn, reverse=False", combine::associative_scan),
    call("map_elementwise", "scalar_fn, *args, pack=1", elementwise::map_elementwise),
    call("histogram", "input, num_bins, mask=None", combine::histogram),
    call("where", "condition, x, y", library::choose),
    call("maximum", "x, y, propagate_nan=None", extremes::maximum),
    call("minimum", "x, y, propagate_nan=None", extremes::minimum),
    call("clamp", "x, min, max, propagate_nan=None", extremes::clamp),
    call("abs", "x", library::abs),
    call("fma", "x, y, z", library::fma),
    call("umulhi", "x, y", library::umulhi),
    call("mulhi", "x, y", library::mulhi),
    call("add", "x, y, sanitize_overflow=True", library::add),
    call("sub", "x, y, sanitize_overflow=True", library::subtract),
    call("mul", "x, y, sanitize_overflow=True", library::multiply),
    call("logical_not", "x", library::logical_not),
    call("clz", "x", library::clz),
    call("popc", "x", library::popc),
    call("brev", "x", library::brev),
    call("fdiv", "x, y, ieee_rounding=False", library::divide),
    call("div_rn", "x, y", library::divide_exactly),
    call("sigmoid", "x", library::sigmoid),
    call("softmax", "x, dim=None, keep_dims=False, ieee_rounding=False", library::softmax),
    call("erf", "x", library::erf),
    call("cdiv", "x, div", library::cdiv),
    call("swizzle2d", "i, j, size_i, size_j, size_g", library::swizzle2d),
    // Triton computes these by the card's own functions ..
    float("exp", Op::ExpApprox),
    float("exp2", Op::Exp2Approx),
    float("rsqrt", Op::RsqrtApprox),
    float("fast_log", Op::LogApprox),
    float("fast_log2", Op::Log2Approx),
    // .. and these to a unit or two in the last place.
    float("log", Op::Log),
    float("log2", Op::Log2),
    float("sin", Op::Sin),
    float("cos", Op::Cos),
    float("tan", Op::Tan),
    float("asin", Op::Asin),
    float("acos", Op::Acos),
    float("atan", Op::Atan),
    call("tanh", "x", library::tanh),
    float("sqrt", Op::Sqrt),
    float("sqrt_rn", Op::Sqrt),
    float("floor", Op::Floor),
    float("ceil", Op::Ceil),
    float("trunc", Op::Trunc),
    float("rint", Op::Round),
    float("nearbyint", Op::Round),
    call("pow", "x, y", library::pow),
    call("atan2", "y, x", library::atan2),
    call("log10", "x", library::log10),
    call("log1p", "x", library::log1p),
    call("expm1", "x", library::expm1),
    call("sinh", "x", library::sinh),
    call("cosh", "x", library::cosh),
    call("isnan", "x", library::isnan),
    call("isinf", "x", library::isinf),
    call("isfinited", "x", library::isfinite),
    call("finitef", "x", library::isfinite),
    call("rand", "seed, offset, n_rounds=10", random::rand),
    call("randn", "seed, offset, n_rounds=10", random::randn),
    call("randint", "seed, offset, n_rounds=10", random::randint),
    call("rand4x", "seed, offsets, n_rounds=10", random::rand4x),
    call("randn4x", "seed, offset, n_rounds=10", random::randn4x),
    call("randint4x", "seed, offset, n_rounds=10", random::randint4x),
    call("uint_to_uniform_float", "x", random::uint_to_uniform_float),
    call("pair_uniform_to_normal", "u1, u2", random::pair_uniform_to_normal),
    call("philox_impl", "c0, c1, c2, c3, k0, k1, n_rounds=10", random::philox_impl),
    call("philox", "seed, c0, c1, c2, c3, n_rounds=10", random::philox),
    call("multiple_of", "input, values", promises::multiple_of),
    call("max_contiguous", "input, values", promises::max_contiguous),
    call("max_constancy", "input, values", promises::max_constancy),
    call("assume", "cond", library::assume),
    call("inline_asm_elementwise", "asm, constraints, args, dtype, is_pure, pack", assembly::inline),
    call("debug_barrier", "", library::nothing),
    call("gdc_wait", "", library::nothing),
    call("gdc_launch_dependents", "", library::nothing),
    call("num_warps", "", library::num_warps),
    call("num_threads", "", library::num_threads),
    call("condition", "arg1, disable_licm=False", compile_time::identity),
    call("static_assert", "cond, msg=''", compile_time::static_assert),
    call("static_print", "*values, sep=' ', end='', file=None, flush=False", compile_time::static_print),
    call("device_print", "prefix, *args, hex=False", library::device_print),
    call("device_assert", "cond, msg='', mask=None", library::device_assert),
    call("print", "prefix, *args, sep=' ', end=''", library::device_print),
    call("constexpr", "value", compile_time::identity),
    call("constexpr_type", "value", compile_time::identity),
    call("_replace", "object, **fields", classes::replaced),
    call("bin", "n", python_builtins::bin),
    call("hex", "n", python_builtins::hex),
    call("divmod", "x, y", python_builtins::divmod),
    call("callable", "value", python_builtins::callable),
    call("len", "value", python_builtins::len),
    call("int", "value", python_builtins::int),
    call("float", "value", python_builtins::float),
    call("bool", "value", python_builtins::bool),
    call("str", "value", python_builtins::str),
    call("round", "value", python_builtins::round),
    call("tuple", "value=()", python_builtins::sequence),
    call("list", "value=()", python_builtins::sequence),
    call(
        "range",
        "start, end=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False",
        python_builtins::range,
    ),
    call("static_range", "start, end=None, step=None", python_builtins::range),
    call("zip", "*values", python_builtins::zip),
    call("enumerate", "value", python_builtins::enumerate),
    call("next_power_of_2", "n", python_builtins::next_power_of_2),
    call("isinstance", "value, kind", python_builtins::isinstance),
    call("hasattr", "value, name", python_builtins::hasattr),
    call("append", "list, value", python_builtins::append_nowhere),
    call("is_floating", "value", dtypes::is_floating),
    call("is_standard_floating", "value", dtypes::is_standard_floating),
    call("is_fp8", "value", dtypes::is_fp8),
    call("is_fp8e4nv", "value", dtypes::is_fp8e4nv),
    call("is_fp8e5", "value", dtypes::is_fp8e5),
    call("is_fp16", "value", dtypes::is_fp16),
    call("is_bf16", "value", dtypes::is_bf16),
    call("is_fp32", "value", dtypes::is_fp32),
    call("is_fp64", "value", dtypes::is_fp64),
    call("is_int", "value", dtypes::is_int),
    call("is_int_signed", "value", dtypes::is_int_signed),
    call("is_int_unsigned", "value", dtypes::is_int_unsigned),
    call("is_int8", "value", dtypes::is_int8),
    call("is_int16", "value", dtypes::is_int16),
    call("is_int32", "value", dtypes::is_int32),
    call("is_int64", "value", dtypes::is_int64),
    call("is_uint8", "value", dtypes::is_uint8),
    call("is_uint16", "value", dtypes::is_uint16),
    call("is_uint32", "value", dtypes::is_uint32),
    call("is_uint64", "value", dtypes::is_uint64),
    call("is_bool", "value", dtypes::is_bool),
    call("is_ptr", "value", dtypes::is_ptr),
    call("is_block", "value", dtypes::is_block),
    call("is_fp8e4b8", "value", dtypes::is_other_fp8),
    call("is_fp8e4b15", "value", dtypes::is_other_fp8),
    call("is_fp8e5b16", "value", dtypes::is_other_fp8),
    call("is_const", "value", dtypes::is_other_fp8),
    call("is_int1", "value", dtypes::is_bool),
    call("kind", "value", dtypes::kind),
    call("get_int_min_value", "value", dtypes::int_min),
    call("get_int_max_value", "value", dtypes::int_max),
    call("get_int_dtype", "bitwidth, signed", dtypes::get_int_dtype),
    call("pointer_type", "element_ty, address_space=1, const=False", dtypes::pointer_type),
    call(
        "Config",
        "kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None",
        compile_time::config,
    ),
    call("getattr", "value, name, default=None", python_builtins::getattr),
    call("filter", "function, values", python_builtins::filter),
    call("map", "function, *values", python_builtins::map),
    call("sorted", "values, key=None, reverse=False", python_builtins::sorted),
    call("reversed", "values", python_builtins::reversed),
    call("sum_of", "values, start=0", python_builtins::sum_of),
    call("max_of", "*values, propagate_nan=None", extremes::max_of),
    call("min_of", "*values, propagate_nan=None", extremes::min_of),
    call("any_of", "values", python_builtins::any_of),
    call("all_of", "values", python_builtins::all_of),
    call("set", "values=()", python_builtins::set),
    call("dict", "values=(), **named", python_builtins::dict),
    call("get", "dictionary, key, default=None", python_builtins::get),
    call("items", "dictionary", python_builtins::items),
    call("keys", "dictionary", python_builtins::keys),
    call("values", "dictionary", python_builtins::values),
    call("copy", "value", python_builtins::copy),
    call("startswith", "text, part", python_builtins::startswith),
    call("endswith", "text, part", python_builtins::endswith),
    call("lower", "text", python_builtins::lower),
    call("upper", "text", python_builtins::upper),
    call("split_text", "text, separator=None", python_builtins::split_text),
    call("join_texts", "text, values", python_builtins::join_texts),
    call("format", "text, *values, **named", python_builtins::format),
    call("splitlines", "text", python_builtins::splitlines),
    call("replace", "text, old, new", python_builtins::replace),
    call("strip", "text", python_builtins::strip),
    call("bit_length", "n", python_builtins::bit_length),
    refused("smid", CARD),
    refused("globaltimer", CARD),
    refused("atomic_poll", CARD),
];

/// All rows, of this table and of what is written in Python.
pub(super) fn rows() -> impl Iterator<Item = &'static Builtin> {
    TABLE.iter().chain(written::rows())
}

/// The operation of a name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    use std::collections::HashMap;
    use std::sync::OnceLock;
    static ROWS: OnceLock<HashMap<&str, &'static Builtin>> = OnceLock::new();
    ROWS.get_or_init(|| rows().map(|row| (row.name, row)).collect()).get(name).copied()
}

/// What to write for a name of other libraries.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, hint)| *hint)
}

/// Names like one that there is not.
pub(super) fn like(name: &str) -> String {
    if let Some(hint) = elsewhere(name) {
        return hint.to_owned();
    }
    match did_you_mean(name, rows().map(|row| row.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::new(),
    }
}

/// What other libraries and CUDA have, and Triton has not; and what to write.
const ELSEWHERE: &[(&str, &str)] = &[
    ("mean", "write `tl.sum(x, axis=0) / n`"),
    ("average", "write `tl.sum(x, axis=0) / n`"),
    ("matmul", "write `tl.dot(a, b)`"),
    ("transpose", "write `tl.trans(x)`"),
    ("power", "write `x * x`, or `libdevice.pow(x, y)`"),
    ("concatenate", "write `tl.cat(a, b, can_reorder=True)`, or store both"),
    ("linspace", "write `tl.arange(0, N) * step + start`"),
    ("ones", "write `tl.full([N], 1.0, tl.float32)`"),
    (
        "threadIdx",
        "a kernel is written for a whole block: `tl.arange(0, BLOCK)` has the places in it, `tl.program_id(0)` its number",
    ),
    ("blockIdx", "write `tl.program_id(0)`"),
    ("blockDim", "the length of a block is a `tl.constexpr` parameter, such as `BLOCK`"),
    ("gridDim", "write `tl.num_programs(0)`"),
    ("__syncthreads", "nothing is to be written: a program's own accesses are in order"),
    ("tl", "write `import triton.language as tl` at the top of the file"),
    ("triton", "write `import triton` at the top of the file"),
    ("np", "kernels do not call NumPy: write `tl.sqrt` and the like"),
    ("torch", "kernels do not call PyTorch: write `tl.sqrt` and the like"),
    ("math", "write `tl.sqrt` and the like, or `import math` at the top of the file for its constants"),
];

/// A default as it stands in a row.
fn default(text: &str) -> Value {
    match text {
        "None" => Value::None,
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "()" => Value::Tuple(vec![]),
        text => match text.parse() {
            Ok(n) => Value::Int(n),
            Err(_) => Value::text(text.trim_matches('\'')),
        },
    }
}

impl Body<'_, '_> {
    /// Calls an operation.
    pub(super) fn builtin(
        &mut self,
        row: &'static Builtin,
        positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        if let BuiltinWriter::Refused(why) = row.writer {
            let message = format!("`{}` is not available on any device: {why}", row.name);
            return self.fail(Code::KernelRefused, span, message, "`docs/triton.md` lists what kernels can call");
        }
        let arguments = self.bind(row, positional, named, span)?;
        match row.writer {
            BuiltinWriter::Call(write) => write(self, &arguments),
            BuiltinWriter::Float(op) => {
                let x = arguments.tensor(self, 0)?;
                library::float(self, op, x, arguments.span(0)).map(Value::Tensor)
            }
            BuiltinWriter::Written(written) => self.written(row.name, written, &arguments),
            BuiltinWriter::Refused(_) => Ok(Value::None),
        }
    }

    pub(super) fn bind(
        &mut self,
        row: &'static Builtin,
        positional: Vec<Placed>,
        mut named: Vec<(String, Placed)>,
        call: Span,
    ) -> Made<Arguments> {
        let mut given = positional.into_iter();
        let (mut values, mut rest) = (vec![], vec![]);
        // `semantic` arguments of Triton's own calls are not written by kernels.
        for parameter in row.parameters.split(", ").filter(|p| !p.is_empty()) {
            let (name, default_text) = parameter.split_once('=').map_or((parameter, None), |(n, d)| (n, Some(d)));
            if name.starts_with("**") {
                let items = named.drain(..).map(|(name, placed)| (Value::text(&name), placed.value)).collect();
                values.push(Placed { value: Value::Dict(items), span: call });
                continue;
            }
            let at = named.iter().position(|(n, _)| *n == name.trim_start_matches('*'));
            let by_name = at.map(|at| named.remove(at).1);
            if name.starts_with('*') {
                match by_name {
                    Some(placed) => values.push(placed),
                    None => {
                        rest = given.by_ref().map(|placed| placed.value).collect();
                        values.push(Placed { value: Value::None, span: call });
                    }
                }
                continue;
            }
            let by_place = if by_name.is_some() { None } else { given.next() };
            match (by_name.or(by_place), default_text) {
                (Some(placed), _) => values.push(placed),
                (None, Some(text)) => values.push(Placed { value: default(text), span: call }),
                (None, None) => {
                    let message = format!("`{}` is missing its argument `{name}`", row.name);
                    return self.fail(Code::KernelArgument, call, message, &format!("it takes ({})", row.parameters));
                }
            }
        }
        if let Some(extra) = given.next() {
            let message = format!("`{}` takes no more arguments than ({})", row.name, row.parameters);
            return self.fail(Code::KernelArgument, extra.span, message, "");
        }
        if let Some((name, placed)) = named.first() {
            let message = format!("`{}` has no argument `{name}`", row.name);
            let known = row.parameters.split(", ").filter_map(|p| p.split('=').next());
            let hint = match did_you_mean(name, known) {
                Some(near) => format!("did you mean `{near}`? It takes ({})", row.parameters),
                None => format!("it takes ({})", row.parameters),
            };
            return self.fail(Code::KernelArgument, self.named_place(name, placed.span), message, &hint);
        }
        Ok(Arguments { values, rest, call })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once_and_parameters_can_be_read() {
        let all: Vec<&Builtin> = rows().collect();
        for (i, row) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other.name != row.name), "{} stands twice", row.name);
            let mut optional = false;
            for parameter in row.parameters.split(", ").filter(|p| !p.is_empty()) {
                let starred = parameter.starts_with('*');
                assert!(!optional || starred || parameter.contains('='), "{}: {parameter}", row.name);
                optional |= parameter.contains('=') || starred;
            }
        }
    }
}
