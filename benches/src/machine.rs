//! The machine that figures are measured on.

use girih_base::plural::counted;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The processor's model, or its architecture where the system does not tell.
    pub processor: String,
    /// How many threads run at once.
    pub cores: usize,
    /// The system.
    pub system: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        Machine {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            system: system().unwrap_or_else(|| std::env::consts::OS.to_owned()),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, {}", self.processor, counted(self.cores, "core"), self.system)
    }
}

fn processor() -> Option<String> {
    if cfg!(target_os = "macos") {
        return super::rivals::first_line("sysctl", &["-n", "machdep.cpu.brand_string"]);
    }
    if cfg!(target_os = "windows") {
        return std::env::var("PROCESSOR_IDENTIFIER").ok();
    }
    setting(Path::new("/proc/cpuinfo"), "model name", ':')
}

fn system() -> Option<String> {
    if cfg!(target_os = "macos") {
        return super::rivals::first_line("sw_vers", &["-productVersion"]).map(|version| format!("macOS {version}"));
    }
    setting(Path::new("/etc/os-release"), "PRETTY_NAME", '=')
}

/// The value of a line `key = value` of a file.
fn setting(file: &Path, key: &str, sign: char) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().filter_map(|line| line.split_once(sign)).find(|(name, _)| name.trim() == key)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Today in UTC, as `2026-11-21`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The date of a day since the beginning of 1970. Years are counted from March, so that a leap day is a year's last.
fn date(day: u64) -> String {
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{:02}", of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_their_dates() {
        let of = |days| date(days);
        assert_eq!(of(0), "1970-01-01");
        assert_eq!(of(58), "1970-02-28");
        assert_eq!(of(59), "1970-03-01");
        assert_eq!(of(11_016), "2000-02-29");
        assert_eq!(of(20_778), "2026-11-21");
        assert_eq!(of(47_540), "2100-02-28");
        assert_eq!(of(47_541), "2100-03-01");
    }
}
