//! What ordinary Python of a file is told of the machine: that it has a CUDA card of the compute capability that a request names, and an empty
//! environment. So a file's configurations are the same wherever they are read.

use super::body::Body;
use super::value::{Record, Value};
use std::sync::Arc;

/// The compute capability if a request names none.
pub(super) const CAPABILITY: (u32, u32) = (8, 0);

/// What is taken for Triton's version.
const VERSION: &str = "3.6.0";

/// A constant of a module.
pub(super) fn constant(path: &str, name: &str) -> Option<Value> {
    match (path, name) {
        ("triton", "__version__") => Some(Value::text(VERSION)),
        ("torch.version", "hip" | "xpu") => Some(Value::None),
        ("torch.version", "cuda") => Some(Value::text("13.0")),
        _ => None,
    }
}

impl Body<'_, '_> {
    /// What a function of a module gives that tells of the machine.
    pub(super) fn told(&self, path: &str, given: &[Value]) -> Option<Value> {
        let (major, minor) = self.module.capability;
        let int = |n: u32| Value::Int(i128::from(n));
        match path {
            "triton.runtime.driver.active.get_current_target" => {
                let fields =
                    vec![("backend", Value::text("cuda")), ("arch", int(major * 10 + minor)), ("warp_size", int(32))];
                Some(Value::Record(Arc::new(Record { what: "the target", fields })))
            }
            "torch.cuda.get_device_capability" => Some(Value::Tuple(vec![int(major), int(minor)])),
            "torch.cuda.is_available" => Some(Value::Bool(true)),
            "torch.cuda.current_device" => Some(int(0)),
            "torch.cuda.device_count" => Some(int(1)),
            "os.getenv" | "os.environ.get" => Some(given.get(1).cloned().unwrap_or(Value::None)),
            _ => None,
        }
    }
}
