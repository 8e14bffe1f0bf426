//! Ends the process while drivers are still at work on other threads.

/// Ends the process without what libraries do at its end. A driver that is being opened on another thread meanwhile would be taken apart under its own
/// feet. What was written to standard output has to be flushed before.
pub fn leave(code: i32) -> ! {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    // SAFETY: it asks for nothing and does not return.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(target_os = "linux"))]
    std::process::exit(code)
}
