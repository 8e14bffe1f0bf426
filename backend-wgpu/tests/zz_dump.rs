mod support;
use girih_core::ir::text;
use girih_core::lower;
use support::*;
#[test]
fn dump() {
    let src = std::env::var("SRC").unwrap();
    let m = module(&std::fs::read_to_string(src).unwrap());
    let mut caps = girih_core::ir::Caps::web();
    if std::env::var("RICH").is_ok() {
        use girih_core::ir::*;
        caps.arithmetic = caps.arithmetic.or(ScalarSet::of(&[Scalar::F16, Scalar::U64, Scalar::I64]));
        caps.storage = caps.arithmetic.without(ScalarSet::BOOL);
        caps.local_storage = caps.storage;
        caps = caps.with(Feature::Subgroups).with(Feature::Calls);
        caps.buffer_views = true;
    }
    let k: Vec<_> = m.kernels().collect();
    let c = lower::compile(&m, &k, &caps, &Default::default()).unwrap_or_else(|e| panic!("{}", said("", &e)));
    println!("{}", text::print(&c.module));
    for l in [girih_wgpu::Language::Wgsl, girih_wgpu::Language::SpirvText, girih_wgpu::Language::Hlsl] {
        match girih_wgpu::emit(&c, &caps, l) {
            Ok(girih_wgpu::Emitted::Text(t)) => println!("{t}"),
            Ok(_) => {}
            Err(e) => println!("{}", said("", &e)),
        }
    }
}
