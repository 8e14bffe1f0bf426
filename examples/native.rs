fn main() {
    let a: Vec<String> = std::env::args().collect();
    let p = girih::Program::open(&a[1], &girih::Options::default());
    let t = girih::core::runtime::TaskOptions { threads: a.get(2).map_or(1, |x| x.parse().unwrap()), count: std::env::var_os("COUNT").is_some(), stack: 2 << 30, ..Default::default() };
    match p.run_natively(&mut girih::SystemHost::new(), &girih::RunOptions{memory: 4<<30, ..Default::default()}, &t) { Ok((x, _)) => println!("{x}"), Err(e) => eprintln!("{e}") }
}
