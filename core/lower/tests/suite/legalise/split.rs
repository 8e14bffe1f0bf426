//! Accesses to a buffer that is split go to its parts.

use girih_base::span::Span;
use girih_ir::{AttrKind, Caps, Op, text, verify};
use girih_lower::split;

const KERNEL: &str = "\
fn @next(%m: buffer, %i: u32) -> u32 {
  return (load.u32 %m[%i + 1])
}
kernel @move(%from: buffer readonly, %to: buffer, %n: u32) workgroup(1) {
  loop (%i: u32 = 0) {
    if (ge.u32 %i, %n) {
      break %i
    }
    %old = atomic.add.u32 %to[%i], (call @next(%from, %i))
    continue (add.u32 %i, 1)
  }
}
";

#[test]
fn accesses_find_their_part() {
    let module = verify(text::parse(Span::NONE.source, KERNEL).expect("it is text").module).expect("it is right");
    let kernel = module.find("move").expect("it is there");
    let whole = split(&module, kernel, &[1, 1, 1], 16, &Caps::everything()).expect("nothing is split");
    assert_eq!(whole.functions[kernel].params.len(), 3);
    let parts = split(&module, kernel, &[4, 2, 1], 16, &Caps::everything()).expect("it can be split");
    assert_eq!(parts.functions[kernel].params.len(), 3 + 3 + 1);
    let mut loads = 0;
    let function = &parts.functions[kernel];
    function.walk(function.body, &mut |_, inst| {
        loads += usize::from(inst.op == Op::Load);
        assert!(!inst.has(AttrKind::Offset));
    });
    assert_eq!(loads, 4);
}
