//! A kernel for buffers that begin elsewhere adds the distance to every index.

use girih_base::span::Span;
use girih_ir::{Caps, text, verify};
use girih_lower::launch::buffer_offsets::shift;

const KERNEL: &str = "\
fn @next(%m: buffer, %i: u32) -> u32 {
  return (load.u32 %m[%i + 1])
}
kernel @move(%from: buffer readonly, %to: buffer, %n: u64) workgroup(1) {
  store.u16 %to[%n], (convert.u16 (call @next(%from, 3)))
}
";

#[test]
fn every_index_takes_the_bytes_in() {
    let module = verify(text::parse(Span::NONE.source, KERNEL).expect("it is text").module).expect("it is right");
    let kernel = module.find("move").expect("it is there");
    let shifted = shift(&module, kernel, &[4, 2, 0], &Caps::everything()).expect("it can be shifted");
    let function = &shifted.functions[kernel];
    assert_eq!(function.params.len(), 5);
    assert_eq!(function.param_attrs(function.params[4]).divisible, 2);
    let text = text::print(&shifted);
    assert!(text.contains("shr.u32 %from_from, 2") && text.contains("shr.u32 %to_from, 1"), "{text}");
}
