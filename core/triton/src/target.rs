//! What ordinary Python of a file is told of the machine: that it has the CUDA card that a request names, and an empty environment. So a file's
//! configurations are the same wherever they are read for that card.
//!
//! What a card of a capability has is in one table, which the request's own numbers go before.

use super::attributes::is_part;
use super::body::Body;
use super::python_math;
use super::value::{Dtype, Record, Value, scalar_named, scalar_of_name};
use girih_ir::Scalar;
use std::sync::Arc;

/// The card of a request that names none.
pub(super) const CAPABILITY: (u32, u32) = (8, 0);

/// What is taken for Triton's version, and for PyTorch's.
const VERSION: &str = "3.6.0";
const TORCH_VERSION: &str = "2.11.0";

/// What ordinary Python of a kernel's file is told of the card, beside its compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a workgroup can have.
    pub shared_bytes: u32,
}

/// Multiprocessors and bytes of shared memory of cards of a compute capability: of the largest one of each.
const CARDS: &[((u32, u32), Card)] = &[
    ((7, 5), Card { multiprocessors: 72, shared_bytes: 64 << 10 }),
    ((8, 0), Card { multiprocessors: 108, shared_bytes: 163 << 10 }),
    ((8, 6), Card { multiprocessors: 84, shared_bytes: 99 << 10 }),
    ((8, 9), Card { multiprocessors: 142, shared_bytes: 99 << 10 }),
    ((9, 0), Card { multiprocessors: 132, shared_bytes: 227 << 10 }),
    ((10, 0), Card { multiprocessors: 148, shared_bytes: 227 << 10 }),
    ((12, 0), Card { multiprocessors: 188, shared_bytes: 99 << 10 }),
];

/// The card that a request names, or one of its capability.
pub(super) fn card(named: Option<Card>, capability: (u32, u32)) -> Card {
    let known = |of: (u32, u32)| CARDS.iter().find(|(c, _)| *c == of).map(|(_, card)| *card);
    let default = Card { multiprocessors: 108, shared_bytes: 163 << 10 };
    named.or_else(|| known(capability)).or_else(|| known(CAPABILITY)).unwrap_or(default)
}

/// A constant of a module.
pub(super) fn constant(path: &str, name: &str) -> Option<Value> {
    match (path, name) {
        ("triton", "__version__") => Some(Value::text(VERSION)),
        ("torch", "__version__") => Some(Value::text(TORCH_VERSION)),
        ("torch", "inf") => Some(Value::Float(f64::INFINITY)),
        ("torch", "nan") => Some(Value::Float(f64::NAN)),
        ("torch.version", "hip" | "xpu") => Some(Value::None),
        ("torch.version", "cuda") => Some(Value::text("13.0")),
        // What vLLM computes when it is asked which card there is.
        ("vllm.platforms", "current_platform") => Some(Value::Library("vllm.platforms.current_platform".into())),
        ("math", name) => python_math::constant(name),
        _ => None,
    }
}

fn int(n: u32) -> Value {
    Value::Int(i128::from(n))
}

fn record(what: &'static str, fields: Vec<(&'static str, Value)>) -> Value {
    Value::Record(Arc::new(Record { what, fields }))
}

impl Body<'_, '_> {
    /// What a function of a module gives that tells of the machine, or of numbers.
    pub(super) fn told(&self, path: &str, given: &[Value]) -> Option<Value> {
        let (major, minor) = self.module.capability;
        if let Some(name) = path.strip_prefix("math.") {
            return python_math::call(name, given);
        }
        match path {
            "triton.runtime.driver.active.get_current_target" | "triton.language.target_info.current_target" => {
                let fields =
                    vec![("backend", Value::text("cuda")), ("arch", int(major * 10 + minor)), ("warp_size", int(32))];
                Some(record("the target", fields))
            }
            "triton.runtime.driver.active.utils.get_device_properties" => Some(self.properties_for_triton()),
            "torch.cuda.get_device_properties" => Some(self.properties_for_torch()),
            "torch.cuda.get_device_name" => Some(Value::text(&format!("NVIDIA sm_{}", major * 10 + minor))),
            "torch.cuda.get_device_capability" => Some(Value::Tuple(vec![int(major), int(minor)])),
            "torch.cuda.is_available" | "triton.language.target_info.is_cuda" => Some(Value::Bool(true)),
            "triton.language.target_info.is_hip"
            | "triton.language.target_info.is_hip_cdna3"
            | "triton.language.target_info.is_hip_cdna4" => Some(Value::Bool(false)),
            "triton.language.target_info.cuda_capability_geq" => {
                let asked =
                    |i: usize| given.get(i).map_or(Some(0), |v| if let Value::Int(n) = v { Some(*n) } else { None });
                Some(Value::Bool((i128::from(major), i128::from(minor)) >= (asked(0)?, asked(1)?)))
            }
            "torch.cuda.current_device" | "triton.runtime.driver.active.get_current_device" => Some(int(0)),
            "torch.cuda.device_count" => Some(int(1)),
            "triton.language.dtype" | "triton.language.core.dtype" => match given.first()? {
                Value::Str(name) => scalar_named(name).map(|scalar| Value::Dtype(Dtype::of(scalar))),
                _other => None,
            },
            "importlib.util.find_spec" => specification(given.first()?),
            "importlib.util.module_from_spec" => match given.first()? {
                Value::Record(of) => of.field("name").map(|name| Value::Library(name.to_string())),
                _other => None,
            },
            "importlib.loader.exec_module" => Some(Value::None),
            "os.getenv" | "os.environ.get" => Some(given.get(1).cloned().unwrap_or(Value::None)),
            "packaging.version.parse" | "packaging.version.Version" => version(given.first()?),
            "vllm.platforms.current_platform.fp8_dtype" => Some(Value::Library("torch.float8_e4m3fn".into())),
            "vllm.platforms.current_platform.is_cuda" | "vllm.platforms.current_platform.is_cuda_alike" => {
                Some(Value::Bool(true))
            }
            "vllm.platforms.current_platform.is_rocm"
            | "vllm.platforms.current_platform.is_xpu"
            | "vllm.platforms.current_platform.is_cpu"
            | "vllm.platforms.current_platform.is_fp8_fnuz" => Some(Value::Bool(false)),
            "torch.finfo" => float_limits(torch_scalar(given.first()?)?),
            "torch.iinfo" => int_limits(torch_scalar(given.first()?)?),
            _ => None,
        }
    }

    /// What Triton's driver says of the card: a dictionary.
    fn properties_for_triton(&self) -> Value {
        let card = self.module.card;
        let entries = [
            ("max_shared_mem", card.shared_bytes),
            ("max_num_regs", 65_536),
            ("multiprocessor_count", card.multiprocessors),
            ("warpSize", 32),
        ];
        Value::Dict(entries.into_iter().map(|(name, n)| (Value::text(name), int(n))).collect())
    }

    /// What PyTorch says of the card.
    fn properties_for_torch(&self) -> Value {
        let ((major, minor), card) = (self.module.capability, self.module.card);
        let threads = if matches!((major, minor), (7, 5)) {
            1024
        } else if minor == 0 && major < 12 {
            2048
        } else {
            1536
        };
        let fields = vec![
            ("name", Value::text(&format!("NVIDIA sm_{}", major * 10 + minor))),
            ("major", int(major)),
            ("minor", int(minor)),
            ("multi_processor_count", int(card.multiprocessors)),
            ("warp_size", int(32)),
            ("max_threads_per_multi_processor", int(threads)),
            ("regs_per_multiprocessor", int(65_536)),
            ("shared_memory_per_block", int(48 << 10)),
            ("shared_memory_per_block_optin", int(card.shared_bytes)),
            ("shared_memory_per_multiprocessor", int(card.shared_bytes + (1 << 10))),
        ];
        record("the card", fields)
    }
}

/// What `importlib` says of a module: something of a part of Triton or of PyTorch, nothing of any other.
fn specification(name: &Value) -> Option<Value> {
    let Value::Str(path) = name else { return None };
    let known = match path.split_once('.') {
        Some(("triton", inner)) => inner.split('.').all(is_part),
        _whole => matches!(&**path, "triton" | "torch"),
    };
    let fields = vec![("name", name.clone()), ("loader", Value::Library("importlib.loader".into()))];
    Some(if known { record("the specification of a module", fields) } else { Value::None })
}

/// A version as its numbers, which are compared one after the other.
fn version(text: &Value) -> Option<Value> {
    let Value::Str(text) = text else { return None };
    let parts = text.split(['.', '+', '-']).map_while(|part| part.parse().ok()).map(Value::Int);
    Some(Value::Tuple(parts.collect()))
}

/// The scalar that `torch.name` is.
fn torch_scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Dtype(Dtype { scalar, pointer: false, .. }) => Some(*scalar),
        Value::Library(path) => match path.strip_prefix("torch.")? {
            "half" => Some(Scalar::F16),
            "float" => Some(Scalar::F32),
            "double" => Some(Scalar::F64),
            "int" => Some(Scalar::I32),
            "long" => Some(Scalar::I64),
            "short" => Some(Scalar::I16),
            "float8_e4m3fn" => Some(Scalar::F8E4M3),
            "float8_e5m2" => Some(Scalar::F8E5M2),
            name => scalar_of_name(name),
        },
        _no_type => None,
    }
}

/// `torch.finfo(type)`.
fn float_limits(scalar: Scalar) -> Option<Value> {
    // Bits of the significand behind the first one, the least normal exponent, the greatest number.
    let (bits, least, max) = match scalar {
        Scalar::F8E4M3 => (3, -6, 448.0),
        Scalar::F8E5M2 => (2, -14, 57_344.0),
        Scalar::F16 => (10, -14, 65_504.0),
        Scalar::Bf16 => (7, -126, f64::from(f32::from_bits(0x7f7f_0000))),
        Scalar::F32 => (23, -126, f64::from(f32::MAX)),
        Scalar::F64 => (52, -1022, f64::MAX),
        _integer => return None,
    };
    let power = |n: i32| Value::Float(2f64.powi(n));
    let fields = vec![
        ("bits", int(scalar.bits())),
        ("eps", power(-bits)),
        ("max", Value::Float(max)),
        ("min", Value::Float(-max)),
        ("tiny", power(least)),
        ("smallest_normal", power(least)),
        ("dtype", Value::text(scalar.name())),
    ];
    Some(record("the limits of a type", fields))
}

/// `torch.iinfo(type)`.
fn int_limits(scalar: Scalar) -> Option<Value> {
    let (min, max) = super::dtypes::int_range(scalar)?;
    let fields = vec![("bits", int(scalar.bits())), ("min", Value::Int(min)), ("max", Value::Int(max))];
    Some(record("the limits of a type", fields))
}
