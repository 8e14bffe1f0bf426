use girih_core::ir::{Caps, text, verify};
use girih_core::lower::compile;
use girih_core::runtime::LoadOptions;
use girih_core::span::Sources;
use girih_cuda::ptx::{self, Launches, Target};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let source = std::fs::read_to_string(&args[1]).unwrap();
    let target = Target::from_name(args.get(2).map_or("sm_90a", |s| s)).unwrap();
    let launches = if args.len() > 3 { Launches::Indirect } else { Launches::Direct };
    let mut sources = Sources::default();
    let id = sources.add("x", &*source);
    let module = verify(text::parse(id, &source).unwrap().module).unwrap();
    let kernels: Vec<_> = module.kernels().collect();
    let c = compile(&module, &kernels, &Caps::cuda(target.sm, target.specific), &LoadOptions::default()).unwrap();
    if std::env::var_os("LEGAL").is_some() {
        print!("{}", text::print(&c.module));
        return;
    }
    let ids: Vec<_> = c.entries.iter().map(|e| e.kernel).collect();
    let t = std::time::Instant::now();
    let p = ptx::render(&c.module, &ids, target, launches).unwrap();
    eprintln!("{:?}", t.elapsed());
    print!("{}", p.text);
}
