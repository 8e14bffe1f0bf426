//! NumPy as the rival of tile kernels on processors: the same job on arrays of the same shape, in a process of its own.

use super::rivals::{failure, first_line};
use std::process::{Command, Stdio};

/// The name of its column.
pub(super) const NAME: &str = "numpy";

/// The jobs, in Python.
const JOBS: &str = include_str!("../tile/numpy_jobs.py");

/// A job: its function in `benches/tile/numpy_jobs.py`, and the lengths that it is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumpyJob {
    /// The function.
    pub function: &'static str,
    /// Its arguments.
    pub lengths: [usize; 2],
}

/// Python with NumPy.
#[derive(Debug)]
pub(super) struct Numpy {
    /// Both versions.
    pub version: String,
}

impl Numpy {
    /// Looks for `python3` with NumPy.
    ///
    /// # Errors
    /// If there is none, in a sentence.
    pub fn find() -> Result<Numpy, String> {
        let asked = "import numpy, sys; print(f'NumPy {numpy.__version__}, Python {sys.version.split()[0]}')";
        let version = first_line("python3", &["-c", asked]).ok_or("there is no `python3` with NumPy")?;
        Ok(Numpy { version })
    }

    /// The median of some runs, in seconds.
    ///
    /// # Errors
    /// If Python fails, or prints no time.
    pub fn seconds(&self, job: NumpyJob, samples: usize) -> Result<f64, String> {
        let [rows, columns] = job.lengths.map(|length| length.to_string());
        let output = Command::new("python3")
            .args(["-c", JOBS, job.function, &rows, &columns, &samples.to_string()])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let time = String::from_utf8_lossy(&output.stdout).trim().parse();
        time.ok().filter(|_| output.status.success()).ok_or_else(|| failure("python3", &output))
    }
}
