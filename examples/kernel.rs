//! Launches a kernel of the IR with Rust slices, on the best device of the machine.

use girih::devices::{Selector, open};
use girih::kernels::Kernels;
use girih::{Error, args};

const AXPY: &str = "
kernel @axpy(%a: f32, %x: buffer, %y: buffer, %n: u32) workgroup(64) launch { grid (div (add %n, 63), 64), 1, 1 } {
  %i = global_id.x
  if (lt %i, %n) {
    store.f32 %y[%i], (add (mul %a, (load.f32 %x[%i])), (load.f32 %y[%i]))
  }
}
";

/// Adds a multiple of one array to another.
pub fn main() -> Result<(), Error> {
    let device = open(&Selector::Auto, None)?;
    let axpy = Kernels::from_text("axpy.gir", AXPY)?.load(&device, None)?;
    let x: Vec<f32> = (0_u16..1000).map(f32::from).collect();
    let mut y = vec![1.0_f32; 1000];
    axpy.launch(args![2.0, &x, &mut y, 1000])?;
    println!("{:?}.. on {}", &y[..4], device.info().name);
    assert_eq!(y[..4], [1.0, 3.0, 5.0, 7.0]);
    Ok(())
}
