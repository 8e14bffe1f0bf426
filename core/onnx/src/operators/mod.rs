//! The one table of ONNX's operators: what writes each. `docs/onnx.md` lists them from here.
//!
//! | file | its operators |
//! |---|---|
//! | `pointwise` | element by element |
//! | `reductions` | along axes |
//! | `shapes` | views, parts, repetitions, tensors of numbers |
//! | `indexing` | elements chosen by positions |
//! | `products` | matrices and Einstein's sums |
//! | `windows` | convolutions and pools |
//! | `norms`, `losses` | normalisations, losses |
//! | `resize`, `grid` | pictures in another size, and between their elements |
//! | `signal` | Fourier transforms and windows |
//! | `recurrent`, `attention` | networks along a sequence |
//! | `quantize` | short integers in place of floats |
//! | `control` | subgraphs |
//!
//! Invariant: an operator's name stands once for each domain. Where versions of the standard differ, what writes it looks at the version.

mod attention;
mod control;
mod grid;
mod indexing;
mod losses;
mod norms;
mod pointwise;
mod products;
mod quantize;
mod recurrent;
mod reductions;
mod resize;
mod shapes;
mod signal;
mod windows;

use crate::call::Call;
use girih_tensor::{Made, NodeId, Op};
use reductions::Reduction;

/// An operator.
pub(crate) struct Row {
    pub name: &'static str,
    pub write: fn(&mut Call<'_, '_>) -> Made<Vec<NodeId>>,
}

/// The operator of a name in a domain; the empty one is ONNX's own.
pub(crate) fn find(domain: &str, name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| domain.is_empty() && row.name == name)
}

/// The operator that a misspelt name means: one whose name has the same letters in another case, or one letter more, less or other.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let is_near =
        |row: &&Row| row.name.eq_ignore_ascii_case(name) || differ_by_one(row.name.as_bytes(), name.as_bytes());
    TABLE.iter().find(is_near).map(|row| row.name)
}
fn differ_by_one(a: &[u8], b: &[u8]) -> bool {
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    let rest = |all: &'_ [u8]| all.get(1..).map(<[u8]>::to_vec).unwrap_or_default();
    rest(a) == rest(b) || rest(a) == b || a == rest(b)
}

/// The reference: the names of all operators, in lines of Markdown.
pub fn reference() -> String {
    let names: Vec<String> = TABLE.iter().map(|row| format!("`{}`", row.name)).collect();
    let mut text = String::new();
    for line in names.chunks(10) {
        text += &format!("{},\n", line.join(", "));
    }
    format!("{}.\n", text.trim_end_matches(",\n"))
}

macro_rules! rows {
    ($($name:literal => $write:expr,)*) => {
        const TABLE: &[Row] = &[$(Row { name: $name, write: $write },)*];
    };
}

rows! {
    "Abs" => |c| pointwise::unary(c, Op::Abs),
    "Acos" => |c| pointwise::unary(c, Op::Acos),
    "Acosh" => pointwise::acosh,
    "Add" => |c| pointwise::binary(c, Op::Add),
    "AffineGrid" => grid::affine,
    "And" => |c| pointwise::binary(c, Op::And),
    "ArgMax" => |c| reductions::position(c, Op::ArgMax),
    "ArgMin" => |c| reductions::position(c, Op::ArgMin),
    "Asin" => |c| pointwise::unary(c, Op::Asin),
    "Asinh" => pointwise::asinh,
    "Atan" => |c| pointwise::unary(c, Op::Atan),
    "Atanh" => pointwise::atanh,
    "Attention" => attention::attention,
    "AveragePool" => windows::average_pool,
    "BatchNormalization" => norms::batch,
    "BitShift" => pointwise::bit_shift,
    "BitwiseAnd" => |c| pointwise::binary(c, Op::And),
    "BitwiseNot" => pointwise::not,
    "BitwiseOr" => |c| pointwise::binary(c, Op::Or),
    "BitwiseXor" => |c| pointwise::binary(c, Op::Xor),
    "BlackmanWindow" => |c| signal::window(c, &[0.42, -0.5, 0.08]),
    "Cast" => pointwise::cast,
    "CastLike" => pointwise::cast_like,
    "Ceil" => |c| pointwise::unary(c, Op::Ceil),
    "Celu" => pointwise::celu,
    "CenterCropPad" => shapes::center_crop_pad,
    "Clip" => pointwise::clip,
    "Col2Im" => grid::from_windows,
    "Compress" => indexing::compress,
    "Concat" => shapes::concat,
    "Constant" => shapes::constant,
    "ConstantOfShape" => shapes::constant_of_shape,
    "Conv" => windows::conv,
    "ConvInteger" => windows::conv_integer,
    "ConvTranspose" => windows::conv_transpose,
    "Cos" => |c| pointwise::unary(c, Op::Cos),
    "Cosh" => |c| pointwise::unary(c, Op::Cosh),
    "CumProd" => reductions::cumprod,
    "CumSum" => reductions::cumsum,
    "DFT" => signal::dft,
    "DepthToSpace" => shapes::depth_to_space,
    "DequantizeLinear" => quantize::dequantize,
    "Det" => indexing::det,
    "Div" => |c| pointwise::binary(c, Op::Div),
    "Dropout" => pointwise::dropout,
    "DynamicQuantizeLinear" => quantize::dynamic,
    "Einsum" => products::einsum,
    "Elu" => pointwise::elu,
    "Equal" => |c| pointwise::compare(c, Op::Eq),
    "Erf" => |c| pointwise::unary(c, Op::Erf),
    "Exp" => |c| pointwise::unary(c, Op::Exp),
    "Expand" => shapes::expand,
    "EyeLike" => shapes::eye_like,
    "Flatten" => shapes::flatten,
    "Floor" => |c| pointwise::unary(c, Op::Floor),
    "GRU" => |c| recurrent::network(c, recurrent::Kind::Gru),
    "Gather" => indexing::gather,
    "GatherElements" => indexing::gather_elements,
    "GatherND" => indexing::gather_nd,
    "Gelu" => pointwise::gelu,
    "Gemm" => products::gemm,
    "GlobalAveragePool" => |c| windows::global(c, Op::Mean),
    "GlobalLpPool" => windows::global_lp_pool,
    "GlobalMaxPool" => |c| windows::global(c, Op::Amax),
    "Greater" => |c| pointwise::compare(c, Op::Gt),
    "GreaterOrEqual" => |c| pointwise::compare(c, Op::Ge),
    "GridSample" => grid::sample,
    "GroupNormalization" => norms::group,
    "HammingWindow" => |c| signal::window(c, &[25.0 / 46.0, -21.0 / 46.0]),
    "HannWindow" => |c| signal::window(c, &[0.5, -0.5]),
    "HardSigmoid" => pointwise::hard_sigmoid,
    "HardSwish" => pointwise::hard_swish,
    "Hardmax" => reductions::hardmax,
    "Identity" => pointwise::identity,
    "If" => control::choice,
    "InstanceNormalization" => norms::instance,
    "IsInf" => pointwise::is_inf,
    "IsNaN" => |c| pointwise::unary(c, Op::IsNan),
    "LRN" => norms::local_response,
    "LSTM" => |c| recurrent::network(c, recurrent::Kind::Lstm),
    "LayerNormalization" => norms::layer,
    "LeakyRelu" => pointwise::leaky_relu,
    "Less" => |c| pointwise::compare(c, Op::Lt),
    "LessOrEqual" => |c| pointwise::compare(c, Op::Le),
    "Log" => |c| pointwise::unary(c, Op::Log),
    "LogSoftmax" => |c| reductions::softmax(c, Op::LogSoftmax),
    "Loop" => control::repeat,
    "LpNormalization" => reductions::lp_normalization,
    "LpPool" => windows::lp_pool,
    "MatMul" => products::matmul,
    "MatMulInteger" => products::matmul_integer,
    "Max" => |c| pointwise::variadic(c, Op::Max),
    "MaxPool" => windows::max_pool,
    "MaxUnpool" => windows::max_unpool,
    "Mean" => pointwise::mean,
    "MeanVarianceNormalization" => norms::mean_variance,
    "MelWeightMatrix" => signal::mel_weights,
    "Min" => |c| pointwise::variadic(c, Op::Min),
    "Mish" => pointwise::mish,
    "Mod" => pointwise::modulo,
    "Mul" => |c| pointwise::binary(c, Op::Mul),
    "Neg" => |c| pointwise::unary(c, Op::Neg),
    "NegativeLogLikelihoodLoss" => losses::negative_log_likelihood,
    "NonZero" => indexing::non_zero,
    "Not" => pointwise::not,
    "OneHot" => indexing::one_hot,
    "Or" => |c| pointwise::binary(c, Op::Or),
    "PRelu" => pointwise::prelu,
    "Pad" => shapes::pad,
    "Pow" => pointwise::pow,
    "QLinearConv" => quantize::linear_conv,
    "QLinearMatMul" => quantize::linear_matmul,
    "QuantizeLinear" => quantize::quantize,
    "RMSNormalization" => norms::rms,
    "RNN" => |c| recurrent::network(c, recurrent::Kind::Plain),
    "Range" => shapes::range,
    "Reciprocal" => |c| pointwise::unary(c, Op::Reciprocal),
    "ReduceL1" => |c| reductions::reduce(c, Reduction::L1),
    "ReduceL2" => |c| reductions::reduce(c, Reduction::L2),
    "ReduceLogSum" => |c| reductions::reduce(c, Reduction::LogSum),
    "ReduceLogSumExp" => |c| reductions::reduce(c, Reduction::LogSumExp),
    "ReduceMax" => |c| reductions::reduce(c, Reduction::Max),
    "ReduceMean" => |c| reductions::reduce(c, Reduction::Mean),
    "ReduceMin" => |c| reductions::reduce(c, Reduction::Min),
    "ReduceProd" => |c| reductions::reduce(c, Reduction::Prod),
    "ReduceSum" => |c| reductions::reduce(c, Reduction::Sum),
    "ReduceSumSquare" => |c| reductions::reduce(c, Reduction::SumSquare),
    "Relu" => |c| pointwise::unary(c, Op::Relu),
    "Reshape" => shapes::reshape,
    "Resize" => resize::resize,
    "ReverseSequence" => indexing::reverse_sequence,
    "RotaryEmbedding" => attention::rotary,
    "Round" => |c| pointwise::unary(c, Op::Round),
    "STFT" => signal::stft,
    "Scan" => control::scan,
    "Scatter" => indexing::scatter_elements,
    "ScatterElements" => indexing::scatter_elements,
    "ScatterND" => indexing::scatter_nd,
    "Selu" => pointwise::selu,
    "Shape" => shapes::shape,
    "Shrink" => pointwise::shrink,
    "Sigmoid" => |c| pointwise::unary(c, Op::Sigmoid),
    "Sign" => |c| pointwise::unary(c, Op::Sign),
    "Sin" => |c| pointwise::unary(c, Op::Sin),
    "Sinh" => |c| pointwise::unary(c, Op::Sinh),
    "Size" => shapes::size,
    "Slice" => shapes::slice,
    "Softmax" => |c| reductions::softmax(c, Op::Softmax),
    "SoftmaxCrossEntropyLoss" => losses::softmax_cross_entropy,
    "Softplus" => |c| pointwise::unary(c, Op::Softplus),
    "Softsign" => pointwise::softsign,
    "SpaceToDepth" => shapes::space_to_depth,
    "Split" => shapes::split,
    "Sqrt" => |c| pointwise::unary(c, Op::Sqrt),
    "Squeeze" => shapes::squeeze,
    "Sub" => |c| pointwise::binary(c, Op::Sub),
    "Sum" => |c| pointwise::variadic(c, Op::Add),
    "SwiGLU" => pointwise::swiglu,
    "Swish" => pointwise::swish,
    "Tan" => |c| pointwise::unary(c, Op::Tan),
    "Tanh" => |c| pointwise::unary(c, Op::Tanh),
    "TensorScatter" => attention::cache,
    "ThresholdedRelu" => pointwise::thresholded_relu,
    "Tile" => shapes::tile,
    "TopK" => reductions::top_k,
    "Transpose" => shapes::transpose,
    "Trilu" => shapes::trilu,
    "Unique" => indexing::unique,
    "Unsqueeze" => shapes::unsqueeze,
    "Upsample" => resize::resize,
    "Where" => pointwise::choose,
    "Xor" => |c| pointwise::binary(c, Op::Xor),
}
