fn main() {
    let a: Vec<String> = std::env::args().collect();
    let p = girih::Program::open(&a[1], &girih::Options::default());
    if std::env::var_os("EMIT").is_some() { println!("{}", p.ir().unwrap()); return; }
    let o = girih::RunOptions { threads: a.get(2).and_then(|x| x.parse().ok()).or(std::num::NonZeroUsize::new(1)), count: std::env::var_os("COUNT").is_some(), ..Default::default() };
    let mut e = p.compile(&o).unwrap_or_else(|r| panic!("{r}"));
    match e.run(&mut girih::SystemHost::new()) { Ok(x) => println!("{x}"), Err(e) => eprintln!("{e}") }
    if o.count { eprintln!("{}", e.stats()); }
    eprintln!("compile {:.2} run {:.2} ms", e.stats().compile_seconds * 1e3, e.stats().seconds*1e3);
}
