//! Python's module `math`, on constants.

use super::operator::float_of;
use super::value::Value;

/// A constant of the module.
pub(super) fn constant(name: &str) -> Option<Value> {
    Some(Value::Float(match name {
        "pi" => std::f64::consts::PI,
        "e" => std::f64::consts::E,
        "tau" => std::f64::consts::TAU,
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => return None,
    }))
}

/// What a function gives; none if there is none of this name, or if it has no value for these arguments.
pub(super) fn call(name: &str, given: &[Value]) -> Option<Value> {
    if let ("prod", [Value::Tuple(items)]) = (name, given) {
        return product(items);
    }
    if let ("gcd", [Value::Int(a), Value::Int(b)]) = (name, given) {
        return Some(Value::Int(greatest_divisor(*a, *b)));
    }
    let numbers: Option<Vec<f64>> = given.iter().map(float_of).collect();
    match numbers?[..] {
        [x] => of_one(name, x),
        [x, y] => of_two(name, x, y),
        _ => None,
    }
}

fn of_one(name: &str, x: f64) -> Option<Value> {
    let whole = |x: f64| x.is_finite().then_some(Value::Int(x as i128));
    let float = match name {
        "ceil" => return whole(x.ceil()),
        "floor" => return whole(x.floor()),
        "trunc" => return whole(x.trunc()),
        "isnan" => return Some(Value::Bool(x.is_nan())),
        "isinf" => return Some(Value::Bool(x.is_infinite())),
        "isfinite" => return Some(Value::Bool(x.is_finite())),
        "log" | "log2" | "log10" if x <= 0.0 => return None,
        "sqrt" if x < 0.0 => return None,
        "log" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "log1p" if x > -1.0 => x.ln_1p(),
        "sqrt" => x.sqrt(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "expm1" => x.exp_m1(),
        "fabs" => x.abs(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "tanh" => x.tanh(),
        "radians" => x.to_radians(),
        "degrees" => x.to_degrees(),
        _ => return None,
    };
    Some(Value::Float(float))
}

fn of_two(name: &str, x: f64, y: f64) -> Option<Value> {
    Some(Value::Float(match name {
        "log" if x > 0.0 && y > 0.0 => x.ln() / y.ln(),
        "pow" => x.powf(y),
        "fmod" if y != 0.0 => x % y,
        "copysign" => x.copysign(y),
        "hypot" => x.hypot(y),
        "atan2" => x.atan2(y),
        _ => return None,
    }))
}

fn product(items: &[Value]) -> Option<Value> {
    let integers: Option<Vec<i128>> =
        items.iter().map(|v| if let Value::Int(n) = v { Some(*n) } else { None }).collect();
    if let Some(integers) = integers {
        return integers.iter().try_fold(1i128, |product, n| product.checked_mul(*n)).map(Value::Int);
    }
    items.iter().map(float_of).try_fold(1.0, |product, x| Some(product * x?)).map(Value::Float)
}

fn greatest_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i128
}
