//! Other readers of what is written: naga's own of WGSL, and `spirv-val`.

use girih_base::words;
use girih_workbench::missing;
use std::process::Command;

/// naga reads the text again. It does not know the two lines that browsers ask for, and rounds numbers beyond `f32`, which they refuse.
pub fn reread(wgsl: &str) -> Result<(), String> {
    let words = wgsl.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let numbers = words.filter_map(|word| word.strip_suffix('f')?.parse::<f64>().ok());
    if let Some(number) = numbers.into_iter().find(|number| *number > f64::from(f32::MAX)) {
        return Err(format!("{number} is no number of f32"));
    }
    let known = |line: &&str| !line.starts_with("enable subgroups") && !line.starts_with("diagnostic(");
    let text: Vec<&str> = wgsl.lines().filter(known).collect();
    naga::front::wgsl::parse_str(&text.join("\n")).map(drop).map_err(|e| e.emit_to_string(&text.join("\n")))
}

/// How many brackets stand within each other in a text, at most.
pub fn nesting(text: &str) -> usize {
    let (mut deepest, mut depth) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// `spirv-val`, where there is one; an error if `GIRIH_REQUIRE_SPIRV_VAL` is set and there is none.
pub fn spirv_val(words: &[u32], name: &str) -> Result<(), String> {
    let program = std::env::var_os("GIRIH_SPIRV_VAL").unwrap_or_else(|| "spirv-val".into());
    let file = std::env::temp_dir().join(format!("girih-{}-{name}.spv", std::process::id()));
    std::fs::write(&file, words::to_bytes(words)).map_err(|e| e.to_string())?;
    let result = Command::new(&program).args(["--target-env", "vulkan1.3"]).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    match result {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
            // Debian 12's is older than the extension for fragments, whose capability is 6022.
            if said.contains("Invalid capability operand: 6022") { Ok(()) } else { Err(said) }
        }
        Err(_) => {
            missing("`spirv-val` on the path or in `GIRIH_SPIRV_VAL`", "GIRIH_REQUIRE_SPIRV_VAL");
            Ok(())
        }
    }
}
