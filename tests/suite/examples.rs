//! The examples, each of which says itself what has to come out.

#[path = "../../examples/call.rs"]
mod call;
#[path = "../../examples/cats_and_dogs/main.rs"]
#[expect(dead_code, reason = "the tests call what `main` calls")]
mod cats_and_dogs;
#[path = "../../examples/char_gpt/main.rs"]
#[expect(dead_code, reason = "the tests call what `main` calls")]
mod char_gpt;
#[path = "../../examples/data.rs"]
mod data;
#[path = "../../examples/frame.rs"]
mod frame;
#[path = "../../examples/image_filter/main.rs"]
#[expect(dead_code, reason = "the tests call what `main` calls")]
mod image_filter;
#[path = "../../examples/kernel.rs"]
mod kernel;
#[path = "../../examples/mnist_like/main.rs"]
#[expect(dead_code, reason = "the tests call what `main` calls")]
mod mnist_like;
#[path = "../../examples/triton.rs"]
mod triton;

#[test]
fn a_function_is_called() {
    call::main().expect("it runs");
}

#[test]
fn data_goes_there_and_back() {
    data::main().expect("it runs");
}

#[test]
fn a_frame_is_rendered() {
    frame::main().expect("it runs");
}

#[test]
fn a_kernel_runs_on_slices() {
    kernel::main().expect("it runs");
}

#[test]
fn a_triton_kernel_runs_on_arrays() {
    triton::main().expect("it runs");
}

#[test]
fn digits_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (accuracy, digit, read) = mnist_like::run(1280, folder.path()).expect("it runs");
    assert!(accuracy > 0.8, "{accuracy} of the digits are read right");
    assert_eq!(i64::from(digit), read);
}

/// A text of one sentence again and again is soon known by heart.
#[test]
fn a_text_is_learnt() {
    use clap::Parser;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (folder.path().join("text"), folder.path().to_str().expect("it is text"));
    std::fs::write(&file, "the cat sat on the mat.\n".repeat(20)).expect("a text");
    let file = file.to_str().expect("it is text");
    let small = "--steps 300 --batch 4 --length 16 --features 32 --blocks 1 --write 24 --temperature 0.1 --device cpu";
    let settings = ["char_gpt", "--text", file, "--out", out].into_iter().chain(small.split(' '));
    let learnt = char_gpt::learn(&char_gpt::Settings::parse_from(settings)).expect("it learns");
    assert!(learnt.losses[1] < 0.5 && learnt.losses[0] > 1.5, "the loss went {:?}", learnt.losses);
    assert_eq!(learnt.written.chars().count(), 24);
    assert!(learnt.written.contains("cat") || learnt.written.contains("the"), "{}", learnt.written);
    assert!(folder.path().join("char_gpt.safetensors").is_file());
    let missing =
        char_gpt::Settings { text: Some(folder.path().join("none")), ..char_gpt::Settings::parse_from(["char_gpt"]) };
    assert!(char_gpt::learn(&missing).err().expect("there is no text").to_string().contains("none"));
}

#[test]
fn cats_are_told_from_dogs() {
    use clap::Parser;
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("it is text");
    let settings = ["cats_and_dogs", "--drawn", "750", "--rounds", "4", "--device", "cpu", "--out", out];
    let settings = cats_and_dogs::Settings::parse_from(settings);
    let accuracy = cats_and_dogs::train(&settings).expect("it trains");
    assert!(accuracy > 0.8, "{accuracy} of the pictures are right");
    let curve = std::fs::read_to_string(folder.path().join("cats_and_dogs.svg")).expect("a curve is written");
    assert!(curve.contains("after each of 4 rounds"), "{curve}");
    // A picture from a file, by the weights from theirs.
    let picture = folder.path().join("picture.png");
    image::RgbImage::from_pixel(64, 48, image::Rgb([200, 30, 90])).save(&picture).expect("it is written");
    let dog = cats_and_dogs::predict(&settings, &picture).expect("it is looked at");
    assert!((0.0..=1.0).contains(&dog));
    let missing = cats_and_dogs::Settings { data: Some(folder.path().into()), ..settings };
    let error = cats_and_dogs::train(&missing).expect_err("there is no folder `cats`");
    assert!(error.to_string().contains("cats"), "{error}");
}

#[test]
fn pictures_are_filtered() {
    use clap::Parser;
    use image::{Rgb, RgbImage};
    use image_filter::{Filter, filtered};
    let device = girih::tensor::open(&girih::devices::Selector::Cpu).expect("native code");
    // The left half is dark.
    let halves = RgbImage::from_fn(8, 4, |x, _| Rgb([if x < 4 { 50 } else { 200 }, 100, 0]));
    let row = |filter| {
        let filtered = filtered(&device, filter, &halves).expect("it is filtered");
        assert!(filtered.pixels().all(|pixel| (pixel[1], pixel[2])
            == if filter == Filter::Edges { (0, 0) } else { (filtered[(0, 0)][1], filtered[(0, 0)][2]) }));
        (0..8).map(|x| filtered[(x, 2)][0]).collect::<Vec<u8>>()
    };
    // Binomial weights of four steps: 1, 4, 6, 4, 1 sixteenths.
    assert_eq!(row(Filter::Blur), [50, 50, 59, 97, 153, 191, 200, 200]);
    assert_eq!(row(Filter::Sharpen), [50, 50, 41, 3, 247, 209, 200, 200]);
    assert_eq!(row(Filter::Edges), [0, 0, 0, 150, 150, 0, 0, 0]);
    assert_eq!(row(Filter::Relief)[..3], [128; 3]);
    let folder = tempfile::tempdir().expect("a folder");
    let (own, out) = (folder.path().join("own.jpg"), folder.path().join("out.png"));
    image_filter::drawn().save(&own).expect("it is written");
    let [own, out] = [&own, &out].map(|path| path.to_str().expect("it is text").to_owned());
    let settings = image_filter::Settings::parse_from(["image_filter", "relief", &own, &out, "--device", "cpu"]);
    image_filter::run(&settings).expect("it runs");
    assert_eq!(image::open(&out).expect("a picture is written").to_rgb8().dimensions(), (320, 240));
    let missing = image_filter::Settings { picture: Some("none.png".into()), ..settings };
    assert!(image_filter::run(&missing).expect_err("there is none").to_string().starts_with("none.png: "));
}

#[test]
fn they_are_short_and_all_of_them_run() {
    let own = include_str!("examples.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).expect("there are examples") {
        let path = entry.expect("it is a file").path();
        if path.is_dir() {
            // Programs in Bend, which the tests of the command run, and programs of several files.
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        assert!(text.lines().count() < 40, "{} is long", path.display());
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("it has a name");
        assert!(own.contains(&format!("{name}::main()")), "{name} is not run");
    }
}
