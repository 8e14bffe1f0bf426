//! An entry is read from its bytes as it was.

use girih_base::pack::{Packer, Unpacker};
use girih_base::span::Sources;
use girih_ir::{Caps, text, verify};
use girih_lower::{Entry, compile};
use girih_runtime::LoadOptions;

const TEXT: &str = "
kernel @k(%x: buffer align(16) noalias, %n: u32 divisible(16), %big: i64) workgroup(32, 2) fold {
  %i = global_id.x
  %inside = lt.u32 %i, %n
  if %inside { store.i64 %x[%i], %big }
}
";

fn compiled(text_of: &str, caps: &Caps) -> Entry {
    let mut sources = Sources::default();
    let source = sources.add("k.gir", text_of);
    let parsed = text::parse(source, text_of).expect("it is right");
    let module = verify(parsed.module).expect("it is right");
    let kernel = module.find("k").expect("it is there");
    let mut compiled = compile(&module, &[kernel], caps, &LoadOptions::default()).expect("it is legal");
    compiled.entries.swap_remove(0)
}

#[test]
fn an_entry_is_read_as_it_was() {
    // The profile of the web has no 64-bit numbers: they come as words; and small grids, which are folded.
    for caps in [Caps::web(), Caps::cuda(90, true)] {
        let entry = compiled(TEXT, &caps);
        let mut packer = Packer::default();
        assert!(entry.pack(&mut packer));
        let bytes = packer.finish();
        let mut unpacker = Unpacker::new(&bytes);
        let again = Entry::unpack(&mut unpacker).expect("it is whole");
        unpacker.end().expect("all is read");
        assert_eq!(again.slots, entry.slots);
        assert_eq!((again.folded, again.largest_grid), (entry.folded, entry.largest_grid));
        let parameters = |e: &Entry| -> Vec<_> {
            let one =
                |p: &girih_ir::ValueId| (e.source.ty(*p), e.source.param_attrs(*p), e.source.values[*p].name.clone());
            e.source.params.iter().map(one).collect()
        };
        assert_eq!(parameters(&again), parameters(&entry));
        assert_eq!((again.source.name.clone(), again.source.span), (entry.source.name.clone(), entry.source.span));
        for end in 0..bytes.len() {
            assert!(Entry::unpack(&mut Unpacker::new(&bytes[..end])).is_none(), "{end} bytes of it");
        }
    }
}

#[test]
fn what_the_host_computes_is_not_written() {
    let text = "
kernel @k(%x: buffer, %n: u32) workgroup(32) launch {
  %half = shr.u32 %n, 1
  grid %half, 1, 1
} {
  store.u32 %x[0], %half
}
";
    assert!(!compiled(text, &Caps::cuda(90, true)).pack(&mut Packer::default()));
}
