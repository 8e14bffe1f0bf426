//! Pictures as files: PNG, one or numbered, and animated GIF.

use super::frame::Frame;
use crate::atomic_file;
use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::png::PngEncoder;
use image::{Delay, ExtendedColorType, ImageEncoder, ImageError, ImageResult, RgbaImage};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How quickly colours are chosen for a GIF, from 1 (best) to 30.
const GIF_SPEED: i32 = 10;

/// Where pictures go.
pub struct Output {
    form: Form,
    /// How many pictures have come.
    count: usize,
    /// What has been written.
    written: Vec<PathBuf>,
}

enum Form {
    /// One file for one picture.
    Single(PathBuf),
    /// A file for each picture.
    Numbered { folder: PathBuf, stem: String, digits: usize },
    /// One file for all.
    Animation { path: PathBuf, rate: f32, encoder: Box<GifEncoder<Ending>>, failure: Failure },
}

/// What went wrong at the very end of a file, after the encoder is gone.
type Failure = Arc<Mutex<Option<std::io::Error>>>;

/// Writes a file, and keeps the error that ending it meets: the encoder writes the last bytes when it is dropped, and
/// does not tell.
struct Ending {
    file: BufWriter<File>,
    failure: Failure,
}

impl Ending {
    fn kept<T>(&self, result: std::io::Result<T>) -> std::io::Result<T> {
        result.inspect_err(|error| {
            let copy = std::io::Error::new(error.kind(), error.to_string());
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copy);
        })
    }
}

impl Write for Ending {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let result = self.file.write(bytes);
        self.kept(result)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let result = self.file.flush();
        self.kept(result)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // The error is kept for whoever ends the output.
        let _ = self.flush();
    }
}

impl Output {
    /// Files for `count` pictures, of which `rate` are shown in a second. What is written depends on the name: an animation
    /// for `NAME.gif`; for `NAME.png` one picture or, if there are several, `NAME-0001.png` and so on.
    pub fn create(path: &Path, count: usize, rate: f32) -> Result<Output, Error> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        let form = match extension.as_str() {
            "png" if count == 1 => Form::Single(path.to_path_buf()),
            "png" => {
                let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                let stem = path.file_stem().map_or_else(String::new, |stem| format!("{}-", stem.to_string_lossy()));
                Form::Numbered { folder, stem, digits: digits(count) }
            }
            "gif" => {
                let file = BufWriter::new(File::create(path).map_err(|error| cannot_write(path, error))?);
                let failure = Failure::default();
                let ending = Ending { file, failure: Arc::clone(&failure) };
                let mut encoder = GifEncoder::new_with_speed(ending, GIF_SPEED);
                encoder.set_repeat(Repeat::Infinite).map_err(|error| cannot_write(path, plain(error)))?;
                Form::Animation { path: path.to_path_buf(), rate, encoder: Box::new(encoder), failure }
            }
            _ => {
                let message = format!("`{}` is neither a PNG nor a GIF", path.display());
                return Err(report(
                    Diagnostic::new(Code::CannotWrite, Span::NONE, message).hint("end its name with `.png` or `.gif`"),
                ));
            }
        };
        Ok(Output { form, count: 0, written: vec![] })
    }

    /// Numbered PNG files in a folder, which is made if there is none.
    pub fn folder(folder: &Path, name: &str, count: usize) -> Result<Output, Error> {
        std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        let form = Form::Numbered { folder: folder.to_path_buf(), stem: format!("{name}-"), digits: digits(count) };
        Ok(Output { form, count: 0, written: vec![] })
    }

    /// Writes the next picture.
    pub fn add(&mut self, frame: &Frame) -> Result<(), Error> {
        let number = self.count;
        self.count += 1;
        match &mut self.form {
            Form::Single(path) => {
                write_png(path, frame)?;
                self.written.push(path.clone());
            }
            Form::Numbered { folder, stem, digits } => {
                let path = folder.join(format!("{stem}{number:0digits$}.png", digits = *digits));
                write_png(&path, frame)?;
                self.written.push(path);
            }
            Form::Animation { path, rate, encoder, failure: _ } => {
                let failed = |error| cannot_write(path, plain(error));
                let (width, height) = (frame.size.width(), frame.size.height());
                let Some(image) = RgbaImage::from_raw(width, height, frame.bytes().to_vec()) else {
                    return Err(cannot_write(path, "a picture whose size is not its own"));
                };
                let delay = Delay::from_numer_denom_ms(10 * hundredths(number, *rate), 1);
                encoder.encode_frame(image::Frame::from_parts(image, 0, 0, delay)).map_err(failed)?;
                if self.written.is_empty() {
                    self.written.push(path.clone());
                }
            }
        }
        Ok(())
    }

    /// Ends the last file, and says which files were written.
    pub fn finish(self) -> Result<Vec<PathBuf>, Error> {
        if let Form::Animation { path, encoder, failure, .. } = self.form {
            drop(encoder);
            if let Some(error) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(cannot_write(&path, error));
            }
        }
        Ok(self.written)
    }
}

/// How long a picture of an animation is shown, in hundredths of a second, the unit of GIF: rounding must not add up.
fn hundredths(number: usize, rate: f32) -> u32 {
    let start = |number: usize| (number as f64 * 100.0 / f64::from(rate)).round();
    (start(number + 1) - start(number)).clamp(1.0, 60_000.0) as u32
}

/// How many digits the numbers below `count` have, at least four.
fn digits(count: usize) -> usize {
    count.saturating_sub(1).to_string().len().max(4)
}

/// Writes a picture as a PNG file.
pub fn write_png(path: &Path, frame: &Frame) -> Result<(), Error> {
    atomic_file::write(path, |file| encode_png(file, frame).map_err(|error| std::io::Error::other(plain(error))))
        .map_err(|error| cannot_write(path, error))
}

/// Encodes a picture as PNG. Opacity is left out: every pixel is opaque.
fn encode_png(writer: impl Write, frame: &Frame) -> ImageResult<()> {
    let rgb: Vec<u8> = frame.pixels.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    PngEncoder::new(writer).write_image(&rgb, frame.size.width(), frame.size.height(), ExtendedColorType::Rgb8)
}

/// What went wrong, without the words of the encoder around it.
fn plain(error: ImageError) -> String {
    match error {
        ImageError::IoError(error) => error.to_string(),
        error => error.to_string(),
    }
}

fn cannot_write(path: &Path, error: impl std::fmt::Display) -> Error {
    let message = format!("cannot write `{}`: {error}", path.display());
    report(Diagnostic::new(Code::CannotWrite, Span::NONE, message))
}

fn report(diagnostic: Diagnostic) -> Error {
    Error::from(diagnostic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::frame::Size;
    use image::AnimationDecoder;
    use image::codecs::gif::GifDecoder;
    use std::io::BufReader;
    use std::time::Duration;

    fn frame(shade: u8) -> Frame {
        let size = Size::new(3, 2).expect("a size within the limit");
        Frame {
            size,
            pixels: (0..6).map(|i| [i * 40, shade, 255 - shade, 255]).collect(),
            cells: 5,
            evaluation: Duration::ZERO,
        }
    }

    #[test]
    fn pngs_hold_the_pixels_and_are_numbered() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = Output::create(&folder.path().join("out.png"), 2, 10.0).expect("a name of a picture");
        output.add(&frame(1)).expect("it is written");
        output.add(&frame(200)).expect("it is written");
        let names = ["out-0000.png", "out-0001.png"].map(|name| folder.path().join(name));
        assert_eq!(output.finish().expect("the files end"), names);
        let read = image::open(&names[1]).expect("a picture").to_rgba8();
        assert_eq!(read.as_raw(), frame(200).bytes());
    }

    #[test]
    fn one_picture_keeps_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.PNG");
        let mut output = Output::create(&path, 1, 10.0).expect("a name of a picture");
        output.add(&frame(7)).expect("it is written");
        assert_eq!(output.finish().expect("the file ends"), [path.as_path()]);
        assert!(path.exists());
    }

    #[test]
    fn gifs_move_at_the_rate_that_was_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.gif");
        let mut output = Output::create(&path, 30, 30.0).expect("a name of an animation");
        for shade in 0..30 {
            output.add(&frame(shade * 8)).expect("it is written");
        }
        assert_eq!(output.finish().expect("the file ends"), [path.as_path()]);
        let decoder = GifDecoder::new(BufReader::new(File::open(&path).expect("the file"))).expect("a GIF");
        let frames = decoder.into_frames().collect_frames().expect("its frames");
        let milliseconds: u32 = frames.iter().map(|frame| frame.delay().numer_denom_ms()).map(|(n, d)| n / d).sum();
        assert_eq!((frames.len(), milliseconds), (30, 1000));
        assert_eq!(frames[3].buffer().as_raw(), frame(24).bytes());
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let missing = Path::new("/nonexistent/folder");
        for name in ["out.png", "out.gif", "out.bmp", "out"] {
            let output = Output::create(&missing.join(name), 1, 10.0).and_then(|mut output| output.add(&frame(0)));
            let report = output.expect_err("there is no such folder");
            assert_eq!(report.diagnostics[0].code, Code::CannotWrite, "{name}");
        }
    }
}
