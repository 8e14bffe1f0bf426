//! Reading and printing take time in proportion to the text.

use super::read;
use girih_ir::text::print;
use girih_workbench::work::Watch;
use std::time::Duration;

/// A kernel of about so many lines, with names that clash and regions that follow one another.
fn kernel(lines: usize) -> String {
    let mut text = String::from("kernel @k(%x: buffer, %y: buffer, %n: u32) workgroup(256) {\n  %i = global_id.x\n");
    for i in 0..lines / 8 {
        text.push_str(&format!(
            "  %a{i} = load.f32 %x[%i + {i}]\n  %b{i} = mad.f32 %a{i}, 2.5, (mul.f32 %a{i}, %a{i})\n  %c{i} = lt.f32 %b{i}, 1.0\n  if %c{i} {{\n    \
             %t = add.f32 %a{i}, %b{i}\n    store.f32 %y[%i + {i}], %t\n  }}\n\n"
        ));
    }
    text + "}\n"
}

/// The shortest of several times, of the processor.
fn time<T>(mut work: impl FnMut() -> T) -> Duration {
    let once = |work: &mut dyn FnMut() -> T| {
        let watch = Watch::start();
        std::hint::black_box(work());
        watch.took()
    };
    (0..7).map(|_| once(&mut work)).min().unwrap()
}

/// Does a small thing as often as makes it as much as the large one, so that a busy machine slows both alike.
fn sixteen_times<T>(mut work: impl FnMut() -> T) {
    (0..16).for_each(|_| drop(std::hint::black_box(work())));
}

#[test]
fn time_grows_with_the_text() {
    let (short, long) = (kernel(2000), kernel(32_000));
    let module = |text: &str| read(text).unwrap().module;
    let reading = (time(|| sixteen_times(|| read(&short))), time(|| read(&long)));
    let (a, b) = (module(&short), module(&long));
    let printing = (time(|| sixteen_times(|| print(&a))), time(|| print(&b)));
    println!("16 x 2000 and 32000 lines: read {reading:?}, printed {printing:?}");
    // Quadratic work would take 16 times as long.
    for (many, one) in [reading, printing] {
        assert!(one <= many * 10, "one text of 32000 lines took {one:?}, 16 of 2000 took {many:?}");
    }
}

#[test]
fn clashing_names_and_many_functions_are_no_burden() {
    let calls: String = (0..4000).map(|i| format!("fn @f{i}() {{\n  call @f{}()\n}}\n", (i + 1) % 4000)).collect();
    assert!(time(|| read(&calls)) < Duration::from_secs(20));
    let mut module = read(&kernel(16_000)).unwrap().module;
    for function in module.functions.iter_mut() {
        function.values.iter_mut().for_each(|v| v.name = Some("same".into()));
    }
    assert!(time(|| print(&module)) < Duration::from_secs(20));
}

#[test]
fn broken_texts_take_no_longer() {
    let braces = "{".repeat(200_000);
    let texts = [
        kernel(16_000).replace("%i", "%j"),
        kernel(16_000).replace(" {\n", " \n"),
        braces.clone(),
        format!("fn @f() {{\n{braces}"),
        "fn @f(".repeat(50_000),
        "(".repeat(200_000),
        "%".repeat(200_000),
        "fn @f(%x: f32) {\n".repeat(20_000),
        format!("fn @f() {{\n  %y = add.f32 {}, 1.0\n}}\n", "9".repeat(500_000)),
        format!("fn @f() -> f16 {{\n  return 1.{}1\n}}\n", "0".repeat(500_000)),
    ];
    for text in texts {
        let took = time(|| read(&text));
        assert!(took < Duration::from_secs(10), "{took:?} for {}..", &text[..text.len().min(60)]);
    }
}
