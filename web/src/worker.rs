//! What the page's JavaScript calls in the worker. Questions and answers are JSON; pixels are bytes.
//!
//! Invariant: of the calls that may wait for the device, one is begun when the one before it has ended. They are suspended by the browser, so JavaScript gets promises of them;
//! while one is, a call that never waits may begin, and it ends before the other goes on. Nothing here is borrowed over a call that may wait.

// wasm-bindgen marks what is suspended as experimental; the page tells apart browsers that cannot do it.
#![allow(deprecated)]

use crate::check;
use crate::files::File;
use crate::forms::{self, Form};
use crate::run::{self, Device};
use crate::steps;
use girih::devices;
use girih::render::{Frame, Painting, Shader};
use girih::{Code, Error};
use serde::Serialize;
use serde_json::json;
use std::cell::RefCell;
use std::time::Duration;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Shows what a program writes to a stream.
    #[wasm_bindgen(js_name = girihWrite)]
    fn page_write(stream: u32, text: &[u8]);
    /// Notes why the module is about to trap.
    #[wasm_bindgen(js_name = girihPanic)]
    fn page_panic(message: &str);
}

thread_local! {
    /// The shader that was checked last, and its text.
    static CHECKED: RefCell<Option<(File, Shader)>> = const { RefCell::new(None) };
    /// The shader that is painted.
    static PAINTING: RefCell<Option<Ready>> = const { RefCell::new(None) };
}

/// A shader that is ready to paint, and what it takes to make it so again.
struct Ready {
    painting: Painting,
    shader: Shader,
    device: Device,
    size: Option<[u32; 2]>,
}

/// The shader of a text: one that was checked just now is not compiled again.
fn shader(file: &File) -> Result<Shader, Error> {
    let known = CHECKED
        .with_borrow(|checked| checked.as_ref().filter(|(text, _)| text == file).map(|(_, shader)| shader.clone()));
    known.map_or_else(|| run::shader(file), Ok)
}

/// A size that a question names: zeros are none.
fn size(width: u32, height: u32) -> Option<[u32; 2]> {
    (width > 0 || height > 0).then_some([width, height])
}

impl Ready {
    fn new(file: &File, device: Device, size: Option<[u32; 2]>) -> Result<Ready, Error> {
        let shader = shader(file)?;
        Ok(Ready { painting: run::painting(&shader, device, size)?, shader, device, size })
    }

    /// The picture at a time, or none yet. A device that was lost is opened anew, once.
    fn part(&mut self, time: f32) -> Result<Option<Frame>, Error> {
        match self.painting.part(time, SLICE) {
            Err(error) if error.code() == Some(Code::DeviceLost) => {
                self.painting = run::painting(&self.shader, self.device, self.size)?;
                self.painting.part(time, SLICE)
            }
            painted => painted,
        }
    }
}

#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| page_panic(&info.to_string())));
}

/// A file of a question; what the page sends is always one.
fn file(question: &str) -> Result<File, JsError> {
    Ok(serde_json::from_str(question)?)
}

fn answer(answer: &impl Serialize) -> Result<String, JsError> {
    Ok(serde_json::to_string(answer)?)
}

/// What the browser's device is, or why there is none.
#[wasm_bindgen(jspi)]
pub fn device() -> Result<String, JsError> {
    let (found, missing) = devices::find();
    let webgpu = found.into_iter().find(|found| found.name == "wgpu:0");
    let refused = webgpu.as_ref().and_then(|found| found.problem.clone());
    answer(&match (webgpu, refused) {
        (Some(found), None) => json!({"name": found.info.name, "is_there": true}),
        (_, Some(refused)) => json!({"why": refused.message, "is_there": false}),
        (None, None) => json!({"why": missing.last().map(|why| why.message.clone()), "is_there": false}),
    })
}

/// What the compiler says of a file.
#[wasm_bindgen]
pub fn check(question: &str) -> Result<String, JsError> {
    let file = file(question)?;
    CHECKED.take();
    answer(&check::check_for(&file, &mut |shader| CHECKED.set(Some((file.clone(), shader)))))
}

/// A file in a form.
#[wasm_bindgen]
pub fn show(question: &str, form: &str) -> Result<String, JsError> {
    let form: Form = serde_json::from_value(form.into())?;
    answer(&forms::show(&file(question)?, form))
}

/// The net of a file after some steps.
#[wasm_bindgen]
pub fn step(question: &str, steps: u32) -> Result<String, JsError> {
    answer(&steps::after(&file(question)?, steps.into()))
}

/// Runs a file.
#[wasm_bindgen(jspi)]
pub fn run(question: &str, device: &str, input: &str) -> Result<String, JsError> {
    let device: Device = serde_json::from_value(device.into())?;
    answer(&run::run(&file(question)?, device, input, page_write))
}

/// A preview of a shader's picture: first its width and height, in four bytes each with the lowest first, then its pixels. Nothing if there is none, or the shader fails: the picture itself will
/// say why.
#[wasm_bindgen]
pub fn preview(question: &str, width: u32, height: u32, time: f32) -> Result<Option<Vec<u8>>, JsError> {
    let file = file(question)?;
    let painted = shader(&file).and_then(|shader| run::preview(&shader, size(width, height), time));
    Ok(painted.ok().flatten().map(|frame| {
        let sides = [frame.size.width(), frame.size.height()].map(u32::to_le_bytes);
        [sides.as_flattened(), frame.bytes()].concat()
    }))
}

/// Makes a shader ready to paint. An answer without a size says what is wrong.
#[wasm_bindgen(jspi)]
pub fn paint(question: &str, device: &str, width: u32, height: u32) -> Result<String, JsError> {
    let device: Device = serde_json::from_value(device.into())?;
    // What is painted now goes first, with its memory.
    PAINTING.take();
    match Ready::new(&file(question)?, device, size(width, height)) {
        Ok(ready) => {
            let size = ready.painting.size();
            PAINTING.set(Some(ready));
            answer(&json!({"width": size.width(), "height": size.height()}))
        }
        Err(error) => answer(&check::Findings::of(&error)),
    }
}

/// How long the worker paints before it looks for questions.
const SLICE: Duration = Duration::from_millis(15);

/// The picture at a time: four bytes for each pixel; or, as text, what is wrong; or nothing, if it has to be asked again to go on with it.
#[wasm_bindgen(jspi)]
pub fn frame(time: f32) -> Result<JsValue, JsError> {
    let Some(mut ready) = PAINTING.take() else { return Err(JsError::new("no shader is ready")) };
    match ready.part(time) {
        Ok(frame) => {
            PAINTING.set(Some(ready));
            Ok(frame.map_or(JsValue::NULL, |frame| js_sys::Uint8ClampedArray::from(frame.bytes()).into()))
        }
        Err(error) => Ok(answer(&check::Findings::of(&error))?.into()),
    }
}

/// In which way the device paints, in some words; empty for the evaluator.
#[wasm_bindgen]
pub fn how() -> String {
    PAINTING.with_borrow(|ready| ready.as_ref().and_then(|ready| ready.painting.how())).unwrap_or_default()
}

/// Runs the conformance suite's cases of the table of operations on the browser's device: how many passed and were refused, and what failed.
#[cfg(feature = "conform")]
#[wasm_bindgen(jspi)]
pub fn conform() -> Result<String, JsError> {
    let selector = devices::Selector::Wgpu(Some("0".to_owned()));
    let device = devices::open(&selector, None).map_err(|error| JsError::new(&error.to_string()))?;
    let (mut score, mut failed) = (girih_conform::Score::default(), vec![]);
    for group in girih_conform::table_groups() {
        let mut told =
            |failure: girih_conform::Failure| failed.push(json!({"case": failure.case, "what": failure.what}));
        let scores = girih_conform::run_on(&group, &mut [device.clone()], &mut told);
        scores.into_iter().for_each(|one| score.add(one));
    }
    answer(&json!({"passed": score.passed, "refused": score.refused, "failed": failed}))
}
