//! Graphs themselves, for those who bring graphs of their own: written node by node, compiled to a [`Plan`], and run on memory of the caller's.
//!
//! ```
//! use girih_nn::graph::{Graph, Op, Plan};
//! use girih_nn::Scalar;
//!
//! let device = girih_nn::Device::new(girih_runtime::Device::new(girih_cpu::open(&girih_cpu::Settings::default())?));
//! let mut graph = Graph::new();
//! let x = graph.input(Scalar::F32, &[2])?;
//! let y = graph.op(Op::Add, &[x, x])?;
//! graph.outputs = vec![y];
//! let plan = Plan::of(&device, &graph)?;
//! let [x, y] = [[1.5_f32, 2.0], [0.0; 2]].map(|numbers| device.runtime().upload(bytemuck::bytes_of(&numbers)));
//! let (x, y) = (x?, y?);
//! plan.run_into(&device, &[x], &[y.clone()])?;
//! let mut found = [0; 8];
//! device.runtime().read(&y, 0, &mut found)?;
//! assert_eq!(bytemuck::cast::<_, [f32; 2]>(found), [3.0, 4.0]);
//! # Ok::<(), girih_nn::Diagnostic>(())
//! ```

pub use crate::plan::Plan;
pub use girih_tensor::{Attr, AttrKind, Graph, Holds, NodeId, Number, Op, Shape, TensorType, vector_jacobian};
