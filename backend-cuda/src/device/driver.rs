//! The driver's errors as diagnostics, and the driver itself, found once.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use cudarc::driver::sys::{self, CUresult};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::ffi::CStr;
use std::sync::OnceLock;

/// Ends with a diagnostic if the driver says anything but success. `what` completes "the CUDA driver cannot ..".
pub(super) fn check(result: CUresult, what: &str) -> Result<(), Diagnostic> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(failure(error, what)),
    }
}

/// What an error of the driver means.
pub(super) fn failure(error: CUresult, what: &str) -> Diagnostic {
    let (name, text) = told(error);
    let message = format!("the CUDA driver cannot {what}: {text} (`{name}`)");
    let diagnostic = |code| Diagnostic::new(code, Span::NONE, message.clone());
    match error {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => diagnostic(Code::DeviceMemory),
        CUresult::CUDA_ERROR_NO_DEVICE
        | CUresult::CUDA_ERROR_INVALID_DEVICE
        | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE
        | CUresult::CUDA_ERROR_NOT_INITIALIZED
        | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | CUresult::CUDA_ERROR_SYSTEM_NOT_READY => diagnostic(Code::NoDevice).hint("`girih devices` lists all devices"),
        CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        | CUresult::CUDA_ERROR_INVALID_VALUE => diagnostic(Code::DeviceCompiler),
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => diagnostic(Code::DeviceLost)
            .hint("a kernel has accessed memory outside its buffers; run it on the interpreter with checks"),
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        | CUresult::CUDA_ERROR_CAPTURED_EVENT => {
            diagnostic(Code::BadArguments).hint("end the capture of the stream before it is used here")
        }
        // These say something of what the driver was given; work and memory are as they were.
        CUresult::CUDA_ERROR_INVALID_HANDLE
        | CUresult::CUDA_ERROR_NOT_FOUND
        | CUresult::CUDA_ERROR_NOT_PERMITTED
        | CUresult::CUDA_ERROR_NOT_SUPPORTED
        | CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => diagnostic(Code::BadArguments),
        // Anything else leaves the context in a state that nothing is known about.
        _ => diagnostic(Code::DeviceLost),
    }
}

/// The driver's own name and text of an error.
fn told(error: CUresult) -> (String, String) {
    let text = |get: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: the driver is loaded, since it has given the error; it writes one pointer to text that lives as long as it.
        let result = unsafe { get(error, &mut text) };
        if result != CUresult::CUDA_SUCCESS || text.is_null() {
            return format!("error {}", error as u32);
        }
        // SAFETY: the driver's texts end with a zero and are never freed.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    (text(sys::cuGetErrorName), text(sys::cuGetErrorString))
}

/// The oldest version of CUDA whose driver has all that is called here.
const OLDEST: i32 = 12_000;

/// Loads the driver and starts it, once for the process.
pub(super) fn start() -> Result<(), Diagnostic> {
    static STARTED: OnceLock<Result<(), Diagnostic>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            // SAFETY: loading the driver's library runs its initialisers, which have no requirements of their own.
            if !unsafe { sys::is_culib_present() } {
                let message = "there is no CUDA driver on this machine";
                return Err(Diagnostic::new(Code::NoDevice, Span::NONE, message)
                    .hint("install NVIDIA's driver; a CUDA toolkit is not needed"));
            }
            // SAFETY: the library is there; the symbol is looked at and not called.
            if unsafe { sys::culib().get::<unsafe extern "C" fn()>(b"cuInit") }.is_err() {
                let message = "the library `libcuda` of this machine is no CUDA driver: it has no `cuInit`";
                return Err(Diagnostic::new(Code::NoDevice, Span::NONE, message)
                    .hint("install NVIDIA's driver, or remove the library"));
            }
            // SAFETY: the library is there, and the call takes no pointers.
            check(unsafe { sys::cuInit(0) }, "start")?;
            match version()? {
                OLDEST.. => Ok(()),
                old => {
                    let (major, minor) = (old / 1000, old % 1000 / 10);
                    let message = format!("the CUDA driver is of version {major}.{minor}, but 12.0 or later is needed");
                    Err(Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("install a newer driver"))
                }
            }
        })
        .clone()
}

/// The version of CUDA that the driver has: 13000 for 13.0.
pub(super) fn version() -> Result<i32, Diagnostic> {
    let mut version = 0;
    // SAFETY: the driver has been started; it writes one number.
    check(unsafe { sys::cuDriverGetVersion(&mut version) }, "tell its version")?;
    Ok(version)
}
