//! What a file is that is no ONNX model, by its first bytes, so that an error can say what to do.

use crate::error::file;
use girih_base::diag::Diagnostic;

/// How files of other kinds begin, what they are, and what to do.
const KINDS: &[(&[u8], &str, &str)] = &[
    (b"\x89PNG", "a picture (PNG)", PICTURE),
    (b"\xff\xd8\xff", "a picture (JPEG)", PICTURE),
    (b"GIF8", "a picture (GIF)", PICTURE),
    (b"PK\x03\x04", "a zip archive, as PyTorch's `.pt` and `.pth` files are", ARCHIVE),
    (b"\x80\x02", "a pickle, as PyTorch's old `.pt` files are", TORCH),
    (b"\x80\x04", "a pickle", TORCH),
    (b"\x1f\x8b", "compressed by gzip", "unpack the file, and open the `.onnx` file that is in it"),
    (b"\x89HDF", "an HDF5 file, as Keras writes", "export the model by `tf2onnx`"),
    (b"GGUF", "a GGUF file", "take the model's ONNX export"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch the file by `git lfs pull`"),
    (b"<!DOCTYPE", "a page of the web", PAGE),
    (b"<html", "a page of the web", PAGE),
];

const PICTURE: &str = "open the `.onnx` file, and give the picture to the model as a tensor";
const TORCH: &str = "load it in PyTorch, and export the model by `torch.onnx.export(model, inputs, \"model.onnx\")`";
const ARCHIVE: &str = "a `.pt` file is exported by `torch.onnx.export(model, inputs, \"model.onnx\")`; unpack another archive, and open the `.onnx` file that is in it";
const PAGE: &str = "a download has given a page in place of the file: take the address of the file itself";
/// The beginnings of what `prost` says where a file ends too early.
const CUT: &[&str] = &["buffer underflow", "unexpected EOF"];

/// The error for a file that is no model; `why` is what its reader says.
pub(crate) fn no_model(bytes: &[u8], why: &str) -> Diagnostic {
    if bytes.is_empty() {
        return file("this is no ONNX model: the file is empty").hint("export or download the model again");
    }
    if let Some((_, what, hint)) = KINDS.iter().find(|(first, ..)| bytes.starts_with(first)) {
        return file(format!("this is no ONNX model: it is {what}")).hint(*hint);
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return file("this is no ONNX model: it is a model of TensorFlow Lite").hint("export the model by `tf2onnx`");
    }
    let why = why.trim_start_matches("failed to decode Protobuf message: ");
    if CUT.iter().any(|cut| why.contains(cut)) {
        return file(format!("this is no ONNX model: it ends too early ({why})"))
            .hint("the file may be part of a download: fetch or export it again");
    }
    file(format!("this is no ONNX model: {why}"))
        .hint("`torch.onnx.export(model, inputs, \"model.onnx\")` and `tf2onnx` write such files")
}
