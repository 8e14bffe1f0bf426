//! Functions of the host that code calls: the approximations of the math library, and what Cranelift calls where the processor lacks an
//! instruction (rounding without SSE 4.1).

use super::{Form, Translator};
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value, types};
use cranelift_module::Linkage;
use girih_ir::Op;

type Unary = extern "C" fn(f32) -> f32;

macro_rules! natives {
    ($($op:ident $symbol:literal |$x:ident| $body:expr;)*) => {
        /// The host's function for an operation: its symbol.
        fn symbol(op: Op) -> Option<&'static str> {
            $(if op == Op::$op {
                return Some($symbol);
            })*
            None
        }

        /// The functions that code may call, by symbol.
        pub(crate) fn symbols() -> Vec<(&'static str, *const u8)> {
            let mut all: Vec<(&'static str, *const u8)> = vec![
                $(($symbol, ({ extern "C" fn native($x: f32) -> f32 { $body } native } as Unary) as *const u8),)*
            ];
            all.extend(roundings());
            all.extend(crate::gemm::symbols());
            all
        }
    };
}

natives! {
    ExpApprox "girih_exp" |x| x.exp();
    Exp2Approx "girih_exp2" |x| x.exp2();
    LogApprox "girih_log" |x| x.ln();
    Log2Approx "girih_log2" |x| x.log2();
    SinApprox "girih_sin" |x| x.sin();
    CosApprox "girih_cos" |x| x.cos();
    TanhApprox "girih_tanh" |x| x.tanh();
}

macro_rules! roundings {
    ($($ty:ident $symbol:literal $method:ident;)*) => {
        /// Rounding under the names that Cranelift calls it by.
        fn roundings() -> Vec<(&'static str, *const u8)> {
            vec![$(($symbol, {
                extern "C" fn native(x: $ty) -> $ty { x.$method() }
                native as extern "C" fn($ty) -> $ty as *const u8
            }),)*]
        }
    };
}

roundings! {
    f32 "ceilf" ceil;
    f32 "floorf" floor;
    f32 "truncf" trunc;
    f32 "nearbyintf" round_ties_even;
    f64 "ceil" ceil;
    f64 "floor" floor;
    f64 "trunc" trunc;
    f64 "nearbyint" round_ties_even;
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// Calls the host's function for an operation on an `f32`; none if it has none.
    pub(super) fn native(&mut self, op: Op, x: Value) -> Option<Value> {
        let symbol = symbol(op)?;
        let mut signature = Signature::new(self.module.isa().default_call_conv());
        signature.params.push(AbiParam::new(types::F32));
        signature.returns.push(AbiParam::new(types::F32));
        let id = self.module.declare_function(symbol, Linkage::Import, &signature).ok()?;
        let callee = self.module.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(callee, &[x]);
        self.b.inst_results(call).first().copied()
    }
}
