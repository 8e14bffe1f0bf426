//! How much memory a program may use: sizes as people write them, and the default.

/// Used where the machine does not say how much memory it has.
const FALLBACK: u64 = 4 << 30;

/// Reads `512M`, `4G`, `65536` or `1.5GiB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: f64 = digits.parse().map_err(|_| "expected a number, for example 512M or 4G".to_owned())?;
    let unit = unit.trim().to_ascii_lowercase();
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(format!("`{unit}` is not a unit: use K, M, G or T")),
    };
    let bytes = number * (1u64 << shift) as f64;
    if bytes < 1.0 || bytes >= u64::MAX as f64 {
        return Err("it must be at least one byte and less than 2^64".to_owned());
    }
    Ok(bytes as u64)
}

/// Three quarters of the machine's memory where the system says how much there is, else 4 GiB.
pub fn default_limit() -> u64 {
    total().map_or(FALLBACK, |bytes| bytes / 4 * 3)
}

/// The memory of the machine, or of the control group if that is less.
fn total() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(group.map_or(machine, |group: u64| group.min(machine)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("65536", 65536), ("512M", 512 << 20), ("4g", 4 << 30), ("1.5GiB", 3 << 29), ("2 kB", 2048)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "4X", "0", "1e9", "99999999T"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
