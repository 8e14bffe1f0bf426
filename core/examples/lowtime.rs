//! temp
use girih_core::ir::*;
use girih_core::runtime::LoadOptions;
use girih_core::span::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let src = std::fs::read_to_string(&a[1]).unwrap();
    let n: usize = a[3].parse().unwrap();
    let caps = match a[2].as_str() {
        "web" => Caps::web(),
        "ptx" => Caps::cuda(90, true),
        _ => Caps::everything(),
    };
    let mut sources = Sources::default();
    let id = sources.add("x", &src[..]);
    let t = Instant::now();
    let _ = math::library();
    println!("library {:?}", t.elapsed());
    let t = Instant::now();
    let parsed = text::parse(id, &src).unwrap().module;
    println!("parse {:?}", t.elapsed());
    let t = Instant::now();
    let m = verify(parsed.clone()).unwrap();
    println!("verify {:?}", t.elapsed());
    let ks: Vec<FunctionId> = m.kernels().collect();
    let mut times = vec![];
    for _ in 0..n {
        let t = Instant::now();
        let c = girih_core::lower::compile(&m, &ks, &caps, &LoadOptions::default()).unwrap();
        times.push(t.elapsed());
        std::hint::black_box(&c);
    }
    println!("first lower {:?}", times[0]);
    times.sort();
    println!("median lower {:?}", times[n / 2]);
    let mut pt: Vec<_> = (0..n)
        .map(|_| {
            let t = Instant::now();
            std::hint::black_box(text::parse(id, &src).unwrap());
            t.elapsed()
        })
        .collect();
    pt.sort();
    let mut vt: Vec<_> = (0..n)
        .map(|_| {
            let p = parsed.clone();
            let t = Instant::now();
            std::hint::black_box(verify(p).unwrap());
            t.elapsed()
        })
        .collect();
    vt.sort();
    println!("median parse {:?} verify {:?}", pt[n / 2], vt[n / 2]);
}
