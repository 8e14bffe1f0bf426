//! Pictures as files: PNG, one or numbered, and animated GIF.

use super::frame::{Frame, Size};
use crate::atomic_file;
use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
    Animation { path: PathBuf, rate: f32, gif: Gif },
}

/// An animation's file. Its head has the size of the pictures, so the first of them begins it.
enum Gif {
    Empty(File),
    Begun(Box<gif::Encoder<BufWriter<File>>>),
}

impl Gif {
    /// The encoder, which begins the file with its head if it is new.
    fn encoder(
        &mut self,
        (width, height): (u16, u16),
    ) -> Result<&mut gif::Encoder<BufWriter<File>>, gif::EncodingError> {
        if let Gif::Empty(file) = self {
            let mut encoder = gif::Encoder::new(BufWriter::new(file.try_clone()?), width, height, &[])?;
            encoder.set_repeat(gif::Repeat::Infinite)?;
            *self = Gif::Begun(Box::new(encoder));
        }
        match self {
            Gif::Begun(encoder) => Ok(encoder),
            Gif::Empty(_) => Err(gif::EncodingError::WriterNotFound),
        }
    }

    /// Adds a picture that is shown for `delay` hundredths of a second.
    fn add(&mut self, frame: &Frame, size: (u16, u16), delay: u16) -> Result<(), gif::EncodingError> {
        let encoder = self.encoder(size)?;
        let mut picture = gif::Frame::from_rgba_speed(size.0, size.1, &mut frame.bytes().to_vec(), GIF_SPEED);
        picture.delay = delay;
        encoder.write_frame(&picture)
    }

    /// Ends the file.
    fn finish(self) -> Result<(), gif::EncodingError> {
        match self {
            Gif::Empty(_) => Ok(()),
            Gif::Begun(encoder) => Ok(encoder.into_inner()?.flush()?),
        }
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
                let gif = Gif::Empty(File::create(path).map_err(|error| cannot_write(path, error))?);
                Form::Animation { path: path.to_path_buf(), rate, gif }
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
            Form::Animation { path, rate, gif } => {
                let size =
                    sides(frame.size).ok_or_else(|| cannot_write(path, "a GIF has at most 65535 pixels a side"))?;
                let (pixels, expected) = (frame.pixels.len(), frame.size.pixels() as usize);
                if pixels != expected {
                    return Err(cannot_write(
                        path,
                        format!("a picture has {pixels} pixels, but its size says {expected}"),
                    ));
                }
                gif.add(frame, size, hundredths(number, *rate)).map_err(|error| cannot_write(path, error))?;
                if self.written.is_empty() {
                    self.written.push(path.clone());
                }
            }
        }
        Ok(())
    }

    /// Ends the last file, and says which files were written.
    pub fn finish(self) -> Result<Vec<PathBuf>, Error> {
        if let Form::Animation { path, gif, .. } = self.form {
            gif.finish().map_err(|error| cannot_write(&path, error))?;
        }
        Ok(self.written)
    }
}

/// The sides of a picture, as GIF counts them.
fn sides(size: Size) -> Option<(u16, u16)> {
    Some((size.width().try_into().ok()?, size.height().try_into().ok()?))
}

/// How long a picture of an animation is shown, in hundredths of a second, the unit of GIF: rounding must not add up.
fn hundredths(number: usize, rate: f32) -> u16 {
    let start = |number: usize| (number as f64 * 100.0 / f64::from(rate)).round();
    (start(number + 1) - start(number)).clamp(1.0, 60_000.0) as u16
}

/// How many digits the numbers below `count` have, at least four.
fn digits(count: usize) -> usize {
    count.saturating_sub(1).to_string().len().max(4)
}

/// Writes a picture as a PNG file.
pub fn write_png(path: &Path, frame: &Frame) -> Result<(), Error> {
    atomic_file::write(path, |file| encode_png(file, frame).map_err(std::io::Error::from))
        .map_err(|error| cannot_write(path, error))
}

/// A picture as the bytes of a PNG file.
///
/// # Errors
/// If it cannot be encoded.
pub fn png_bytes(frame: &Frame) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![];
    encode_png(&mut bytes, frame).map_err(|error| cannot_write(Path::new("picture.png"), error))?;
    Ok(bytes)
}

/// Encodes a picture as PNG. Opacity is left out: every pixel is opaque.
fn encode_png(writer: impl Write, frame: &Frame) -> Result<(), png::EncodingError> {
    let rgb: Vec<u8> = frame.pixels.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let mut encoder = png::Encoder::new(writer, frame.size.width(), frame.size.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()
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
        let file = BufReader::new(File::open(&names[1]).expect("the file"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut rgb = vec![0; reader.output_buffer_size().expect("a small picture")];
        let read = reader.next_frame(&mut rgb).expect("its pixels");
        assert_eq!((read.width, read.height, read.color_type), (3, 2, png::ColorType::Rgb));
        let expected: Vec<u8> = frame(200).pixels.iter().flat_map(|pixel| pixel[..3].to_vec()).collect();
        assert_eq!(rgb, expected);
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
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let decoder = options.read_info(BufReader::new(File::open(&path).expect("the file"))).expect("a GIF");
        assert_eq!(decoder.repeat(), gif::Repeat::Infinite);
        let frames: Vec<_> = decoder.into_iter().map(|frame| frame.expect("a picture")).collect();
        let milliseconds: u32 = frames.iter().map(|frame| 10 * u32::from(frame.delay)).sum();
        assert_eq!((frames.len(), milliseconds), (30, 1000));
        assert_eq!(*frames[3].buffer, *frame(24).bytes());
    }

    #[test]
    fn gifs_have_a_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.gif");
        let mut output = Output::create(&path, 1, 10.0).expect("a name of an animation");
        let size = Size::new(65_536, 1).expect("a size within the limit of pictures");
        let wide = Frame { size, pixels: vec![[0; 4]; 65_536], ..frame(0) };
        let error = output.add(&wide).expect_err("it is too wide for a GIF");
        assert!(error.to_string().contains("at most 65535 pixels"), "{error}");
    }

    #[test]
    fn a_picture_has_as_many_pixels_as_its_size_says() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["out.png", "out.gif"] {
            let mut output = Output::create(&folder.path().join(name), 1, 10.0).expect("a name of a picture");
            let short = Frame { pixels: vec![[0; 4]; 5], ..frame(0) };
            let error = output.add(&short).expect_err("a pixel is missing");
            assert_eq!(error.diagnostics[0].code, Code::CannotWrite, "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let file = File::options().write(true).open("/dev/full").expect("the device that is always full");
        let mut gif = Gif::Empty(file);
        gif.add(&frame(0), (3, 2), 1).and_then(|()| gif.finish()).expect_err("there is no room");
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
