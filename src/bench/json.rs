//! Figures as JSON, written and read.

use super::figures::{Beside, Failed, Figures, Row, Run, Together};
use super::machine::Machine;
use serde_json::{Value, json};

/// Figures as an object.
pub fn write(figures: &Figures) -> Value {
    let Figures { date, version, machine, device, card, samples, cc, upstream, together, rows, failed } = figures;
    json!({
        "kind": "bench",
        "date": date,
        "version": version,
        "machine": {"processor": machine.processor, "cores": machine.cores, "system": machine.system},
        "device": device,
        "card": card,
        "samples": samples,
        "cc": cc,
        "upstream": upstream,
        "together": together.map(|t| json!({"lines": t.lines, "compile": t.compile})),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "failed": failed.iter().map(|f| json!({"name": f.name, "why": f.why})).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let run = |run: &Run| json!({"threads": run.threads, "seconds": run.seconds, "least": run.least});
    let beside = |b: &Beside| json!({"size": b.size, "theirs": b.theirs, "ours": b.ours});
    json!({
        "name": row.name,
        "size": row.size,
        "compile": row.compile,
        "runs": row.runs.iter().map(run).collect::<Vec<_>>(),
        "bytes": row.bytes,
        "c": row.c,
        "upstream": row.upstream.as_ref().map(beside),
    })
}

/// Reads what [`write()`] has written.
///
/// # Errors
/// If the text is no JSON, or something is missing: which.
pub fn read(text: &str) -> Result<Figures, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let machine = &value["machine"];
    Ok(Figures {
        date: string(&value, "date")?,
        version: string(&value, "version")?,
        machine: Machine {
            processor: string(machine, "processor")?,
            cores: integer(machine, "cores")? as usize,
            system: string(machine, "system")?,
        },
        device: string(&value, "device")?,
        card: string(&value, "card").ok(),
        samples: integer(&value, "samples")? as usize,
        cc: string(&value, "cc").ok(),
        upstream: string(&value, "upstream").ok(),
        together: present(&value["together"]).map(together).transpose()?,
        rows: list(&value, "rows")?.iter().map(read_row).collect::<Result<_, _>>()?,
        failed: value["failed"].as_array().map_or(Ok(vec![]), |all| all.iter().map(read_failed).collect())?,
    })
}

fn read_failed(value: &Value) -> Result<Failed, String> {
    Ok(Failed { name: string(value, "name")?, why: string(value, "why")? })
}

fn read_row(value: &Value) -> Result<Row, String> {
    let run = |run: &Value| {
        let threads = present(&run["threads"]).map(|_| integer(run, "threads")).transpose()?.map(|n| n as usize);
        Ok(Run { threads, seconds: number(run, "seconds")?, least: number(run, "least")? })
    };
    let beside =
        |b: &Value| Ok::<_, String>(Beside { size: size(b)?, theirs: number(b, "theirs")?, ours: number(b, "ours")? });
    Ok(Row {
        name: string(value, "name")?,
        size: size(value)?,
        compile: number(value, "compile")?,
        runs: list(value, "runs")?.iter().map(run).collect::<Result<_, String>>()?,
        bytes: integer(value, "bytes")?,
        c: value["c"].as_f64(),
        upstream: present(&value["upstream"]).map(beside).transpose()?,
    })
}

fn size(value: &Value) -> Result<u32, String> {
    u32::try_from(integer(value, "size")?).map_err(|_| "a `size` that is too large".to_owned())
}

fn together(value: &Value) -> Result<Together, String> {
    Ok(Together { lines: integer(value, "lines")? as usize, compile: number(value, "compile")? })
}

fn present(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}

fn lacks(what: &str, name: &str) -> String {
    format!("no {what} `{name}`")
}

fn string(value: &Value, name: &str) -> Result<String, String> {
    value[name].as_str().map(str::to_owned).ok_or_else(|| lacks("text", name))
}

fn integer(value: &Value, name: &str) -> Result<u64, String> {
    value[name].as_u64().ok_or_else(|| lacks("whole number", name))
}

fn number(value: &Value, name: &str) -> Result<f64, String> {
    value[name].as_f64().ok_or_else(|| lacks("number", name))
}

fn list<'v>(value: &'v Value, name: &str) -> Result<&'v [Value], String> {
    value[name].as_array().map(Vec::as_slice).ok_or_else(|| lacks("list", name))
}
