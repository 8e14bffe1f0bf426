//! The demo `render`, really run: its window on a virtual display and a software GPU, and its pictures without either.
//!
//! The window needs Xvfb, ImageMagick, xdotool and Mesa's software driver; `.ci/setup.sh` installs them on Debian. Where
//! one of them is missing the test of the window says so and ends, unless `GIRIH_REQUIRE_WINDOW` is set, as it is in CI.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it is looked whether something is there: software GPUs compile slowly. A machine that is busy is slow with looking, too.
const LOOKS: usize = 1000;

const WAVES: &str = "\
def width() -> u24:
  return 64

def height() -> u24:
  return 48

def shader(x: u24, y: u24, t: f24) -> u24:
  return (x * 4 + f24/to_u24(t * 40.0)) % 256 << 16 | y * 5
";

const STILL: &str = "\
def shader(x: u24, y: u24, t: f24) -> u24:
  return 0x00ff00 | x ^ y
";

#[test]
fn the_window_shows_moving_pictures_and_obeys() {
    let Some(tools) = Tools::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (waves, still) = (folder.path().join("waves.bend"), folder.path().join("still.bend"));
    write(&waves, WAVES);
    write(&still, STILL);
    let display = Display::start();
    let mut demo = Running(
        tools
            .demo(&display)
            .args([&waves, &still])
            .arg("-o")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("the demo starts"),
    );

    display.wait_for_title("waves - 64x48 - ");
    let first = display.wait_for_picture("a picture with many colours", |picture| colours(picture) > 500);
    display.wait_for_picture("another picture than the first", |picture| colours(picture) > 500 && *picture != first);

    display.press("space");
    display.wait_for_title("paused");
    let paused = display.wait_until_still();
    std::thread::sleep(Duration::from_millis(500));
    assert!(display.picture() == paused, "the picture moves although it is paused");
    display.press("period");
    display.wait_for_picture("the picture after a step", |picture| colours(picture) > 500 && *picture != paused);
    display.press("space");

    // The device is in the title, with what it does; a key changes it.
    display.wait_for_title("cpu, ");
    display.wait_for_title(&format!(" - {} cells", 64 * 48 - 1));
    display.press("d");
    display.wait_for_title("evaluator, ");
    display.press("d");
    display.wait_for_title("cpu, ");

    display.press("Right");
    display.wait_for_title("still - 256x256");
    display.wait_for_picture("a green picture", |picture| picture.pixels.contains(&[0, 255, 0]));
    display.press("s");
    let saved = folder.path().join("still-1.png");
    wait_for("a saved picture", || {
        Picture::decode(&std::fs::read(&saved).ok()?).filter(|picture| picture.width == 256)
    });

    write(&still, &STILL.replace("x ^ y", "no_such_name"));
    display.wait_for_title("B0201");
    display.wait_for_picture("the error over the picture", |picture| {
        let is_ink = |pixel: &&Pixel| pixel[0] > 240 && pixel[1] > 220;
        picture.pixels.iter().filter(is_ink).count() > 200
    });
    assert!(demo.0.try_wait().expect("its state").is_none(), "an error in a shader has closed the window");
    write(&still, &STILL.replace("0x00ff00", "0x0000ff"));
    display.wait_for_title("still - 256x256");
    display.wait_for_picture("a blue picture", |picture| picture.pixels.contains(&[0, 0, 255]));

    for (width, height) in ["300", "900", "1", "500"].into_iter().zip(["500", "200", "1", "400"]) {
        let window = display.window().expect("a window");
        display.tool("xdotool", &["windowsize", "--sync", &window, width, height]);
    }
    // The picture has become smaller with the window: 256 pixels a side fit into 576 of its height at first, and now into 400.
    display.wait_for_title("still - 178x178");
    // The window is wider than the picture, which keeps its proportions: there are bars at its sides.
    display.wait_for_picture("a picture of 400 pixels a side", |picture| {
        let is_blue = |x: usize, y: usize| picture.pixels[y * picture.width + x][2] == 255;
        let blue_columns = (0..500).filter(|&x| (0..400).any(|y| is_blue(x, y))).count();
        (390..=400).contains(&blue_columns)
    });

    display.press("q");
    assert!(demo.wait().success(), "the demo ends well");

    let mut without_gpu = tools.demo(&display);
    without_gpu.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent");
    let output = without_gpu.arg(&waves).output().expect("the demo runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(words.contains("--headless"), "{words}");
}

#[test]
fn pictures_of_the_windows_own_device_stay_there() {
    let Some(tools) = Tools::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (waves, still) = (folder.path().join("waves.bend"), folder.path().join("still.bend"));
    write(&waves, WAVES);
    write(&still, STILL);
    let display = Display::start();
    let mut demo = Running(
        tools
            .demo(&display)
            .args(["--device", "wgpu:lavapipe", "--stats", "-o"])
            .args([folder.path(), &waves, &still])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the demo starts"),
    );

    display.wait_for_title("waves - 64x48 - wgpu:lavapipe - ");
    let mut last = display.wait_for_picture("a picture with many colours", |picture| colours(picture) > 500);
    for _ in 0..10 {
        last = display.wait_for_picture("another picture", |picture| colours(picture) > 500 && *picture != last);
    }
    // Colours arrive as they are, enlarged and reduced.
    display.press("Right");
    display.wait_for_title("still - 256x256 - wgpu:lavapipe - ");
    display.wait_for_picture("a green picture", |picture| picture.pixels.contains(&[0, 255, 0]));
    display.press("plus");
    display.press("plus");
    display.wait_for_title("still - 1024x1024 - wgpu:lavapipe - ");
    display.wait_for_picture("a green picture", |picture| {
        picture.pixels.iter().filter(|pixel| pixel[0] == 0 && pixel[1] == 255).count() > 100_000
    });

    display.press("q");
    assert!(demo.wait().success(), "the demo ends well");
    let mut words = String::new();
    demo.0.stderr.take().expect("its errors").read_to_string(&mut words).expect("they are text");
    let numbers: Vec<u64> = words.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    let [pictures, copied, read] = numbers[..] else { panic!("{words}") };
    assert!(pictures > 10, "{words}");
    assert_eq!(copied, 0, "{words}");
    // What is read is how the kernels ended, and no pixel.
    assert!(read < pictures * 64 * 48 * 4 / 8, "{words}");
}

#[test]
fn pictures_need_neither_a_display_nor_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let waves = folder.path().join("waves.bend");
    write(&waves, WAVES);
    let output = blind(
        &[waves.as_os_str(), "--headless".as_ref(), "--frames".as_ref(), "3".as_ref(), "-o".as_ref()],
        folder.path(),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = |number: usize| {
        let path = folder.path().join(format!("waves-000{number}.png"));
        Picture::decode(&std::fs::read(path).expect("a file")).expect("a picture")
    };
    for (number, shift) in [(0, 0), (2, 2)] {
        let picture = picture(number);
        assert_eq!((picture.width, picture.pixels.len()), (64, 64 * 48));
        for (number_of_pixel, pixel) in picture.pixels.iter().enumerate() {
            let (x, y) = (number_of_pixel % 64, number_of_pixel / 64);
            let colour = (((x * 4 + shift) % 256) << 16) | (y * 5);
            assert_eq!(*pixel, [(colour >> 16) as u8, (colour >> 8) as u8, colour as u8], "pixel {x}, {y} of {number}");
        }
    }
}

#[test]
fn without_a_display_the_exit_code_is_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let waves = folder.path().join("waves.bend");
    write(&waves, WAVES);
    if cfg!(target_os = "linux") {
        let output = blind(&[waves.as_os_str(), "-o".as_ref()], folder.path());
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words}");
        assert!(words.contains("--headless"), "{words}");
    }
}

/// Runs the demo where it finds neither a display nor a GPU; the last argument is a folder for pictures.
fn blind(arguments: &[&std::ffi::OsStr], folder: &Path) -> Output {
    Command::new(demo())
        .args(arguments)
        .arg(folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env("VK_DRIVER_FILES", "/nonexistent")
        .output()
        .expect("the demo runs")
}

/// The demo's program: beside this test's, where cargo puts examples. It is built if only this test was.
fn demo() -> PathBuf {
    let test = std::env::current_exe().expect("this program's path");
    let target = test.ancestors().nth(2).expect("the folder of the profile");
    let demo = target.join("examples").join(format!("render{}", std::env::consts::EXE_SUFFIX));
    if !demo.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--example", "render"]);
        if target.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo runs").success(), "the demo is built");
    }
    demo
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file is written");
}

/// Red, green, blue.
type Pixel = [u8; 3];

/// A picture that was read.
#[derive(PartialEq)]
struct Picture {
    width: usize,
    /// Row after row.
    pixels: Vec<Pixel>,
}

impl Picture {
    /// Reads a PNG of any kind, or says that this is none, such as a file that is not yet complete.
    fn decode(bytes: &[u8]) -> Option<Picture> {
        let mut decoder = png::Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().ok()?;
        let mut samples = vec![0; reader.output_buffer_size()?];
        let read = reader.next_frame(&mut samples).ok()?;
        samples.truncate(read.buffer_size());
        let pixels = match read.color_type {
            png::ColorType::Grayscale => samples.iter().map(|&grey| [grey; 3]).collect(),
            png::ColorType::GrayscaleAlpha => samples.chunks_exact(2).map(|pair| [pair[0]; 3]).collect(),
            png::ColorType::Rgb => samples.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
            png::ColorType::Rgba => samples.chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
            png::ColorType::Indexed => return None,
        };
        Some(Picture { width: read.width as usize, pixels })
    }
}

fn colours(picture: &Picture) -> usize {
    picture.pixels.iter().collect::<HashSet<_>>().len()
}

/// Looks again and again until there is something.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let found = (0..LOOKS).find_map(|_| {
        let found = look();
        if found.is_none() {
            std::thread::sleep(Duration::from_millis(100));
        }
        found
    });
    found.unwrap_or_else(|| panic!("there was never {what}"))
}

/// What the test of the window needs beside cargo.
struct Tools {
    /// The description of Mesa's software driver.
    driver: PathBuf,
}

impl Tools {
    /// What there is; none, with a word about it, if something is missing that need not be there.
    fn here() -> Option<Tools> {
        match Tools::find() {
            Ok(tools) => Some(tools),
            Err(missing) => {
                eprintln!("{missing}");
                girih_workbench::missing("virtual display with its tools (`.ci/setup.sh`)", "GIRIH_REQUIRE_WINDOW");
                None
            }
        }
    }

    fn find() -> Result<Tools, String> {
        for (tool, ask) in [("Xvfb", "-help"), ("import", "-version"), ("xdotool", "version")] {
            let tried = Command::new(tool).arg(ask).stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.map_err(|error| format!("`{tool}` cannot be run: {error}"))?;
        }
        let folder = "/usr/share/vulkan/icd.d";
        let entries = std::fs::read_dir(folder).map_err(|error| format!("no Vulkan drivers in {folder}: {error}"))?;
        let driver = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd")));
        driver.map(|driver| Tools { driver }).ok_or_else(|| format!("no software driver in {folder}"))
    }

    /// The demo on a display and on the software driver.
    fn demo(&self, display: &Display) -> Command {
        let mut command = Command::new(demo());
        command
            .env("DISPLAY", &display.name)
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .env("VK_DRIVER_FILES", &self.driver)
            .env("VK_ICD_FILENAMES", &self.driver);
        command
    }
}

/// A program that does not outlive the test.
struct Running(Child);

impl Running {
    fn wait(&mut self) -> ExitStatus {
        wait_for("an end of the program", || self.0.try_wait().expect("its state"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A virtual display.
struct Display {
    name: String,
    _server: Running,
    _alone: MutexGuard<'static, ()>,
}

/// Servers that start at the same time may take the same number.
static ALONE: Mutex<()> = Mutex::new(());

impl Display {
    /// Starts a display under a number that is free.
    fn start() -> Display {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let server = Command::new("Xvfb")
            // A server that begins anew when its last client leaves refuses others meanwhile.
            .args(["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        let mut server = Running(server);
        let mut number = String::new();
        let output = server.0.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut number).expect("the number of the display");
        let number = number.trim();
        assert!(!number.is_empty(), "Xvfb found no free display");
        Display { name: format!(":{number}"), _server: server, _alone: alone }
    }

    fn tool(&self, name: &str, arguments: &[&str]) -> Output {
        Command::new(name).args(arguments).env("DISPLAY", &self.name).output().expect("the tool runs")
    }

    /// What is on the display.
    fn picture(&self) -> Picture {
        let output = self.tool("import", &["-window", "root", "-depth", "8", "png:-"]);
        Picture::decode(&output.stdout).expect("a picture of the display")
    }

    fn wait_for_picture(&self, what: &str, fits: impl Fn(&Picture) -> bool) -> Picture {
        wait_for(what, || Some(self.picture()).filter(&fits))
    }

    /// Waits until nothing moves any more.
    fn wait_until_still(&self) -> Picture {
        wait_for("a picture that stands still", || {
            let before = self.picture();
            std::thread::sleep(Duration::from_millis(300));
            Some(self.picture()).filter(|after| *after == before)
        })
    }

    fn window(&self) -> Option<String> {
        let found = self.tool("xdotool", &["search", "--name", "girih$"]).stdout;
        String::from_utf8_lossy(&found).lines().next().map(str::to_owned)
    }

    fn wait_for_title(&self, part: &str) {
        let mut last = String::new();
        wait_for(&format!("`{part}` in the title"), || {
            let title = self.tool("xdotool", &["getwindowname", &self.window()?]).stdout;
            let title = String::from_utf8_lossy(&title).trim().to_owned();
            if title != last {
                eprintln!("title: {title}");
                last.clone_from(&title);
            }
            title.contains(part).then_some(())
        });
    }

    /// Presses a key in the window.
    fn press(&self, key: &str) {
        let window = wait_for("a window", || self.window());
        // There is no window manager that would give it the focus.
        self.tool("xdotool", &["windowfocus", "--sync", &window]);
        self.tool("xdotool", &["key", key]);
    }
}
