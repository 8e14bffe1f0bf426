//! Figures as JSON, written and read.

use super::baseline::Change;
use super::figures::{Calls, Ceilings, Failed, Figures, Peer, Rival, Row, Run, Size, Way, Work};
use super::machine::Machine;
use super::spread::Spread;
use serde_json::{Value, json};

/// Figures as an object.
pub fn write(figures: &Figures) -> Value {
    let Figures { date, version, machine, device, card, samples, rivals, ceilings, rows, failed } = figures;
    json!({
        "kind": "bench",
        "date": date,
        "version": version,
        "machine": {"processor": machine.processor, "cores": machine.cores, "system": machine.system},
        "device": device,
        "card": card,
        "samples": samples,
        "rivals": rivals.iter().map(|r| json!({"name": r.name, "what": r.what})).collect::<Vec<_>>(),
        "ceilings": ceilings.map(|c| json!({"copy": c.copy, "fma": c.fma})),
        "rows": rows.iter().map(|r| row(r, *ceilings)).collect::<Vec<_>>(),
        "failed": failed.iter().map(|f| json!({"suite": f.suite, "name": f.name, "why": f.why})).collect::<Vec<_>>(),
    })
}

/// Changes as an object.
pub fn write_changes(since: &str, changes: &[Change], threshold: f64) -> Value {
    let change = |change: &Change| {
        json!({
            "suite": change.suite, "name": change.title, "threads": change.threads, "before": spread(&change.before),
            "now": spread(&change.now), "ratio": change.ratio(), "verdict": change.verdict(threshold).name(),
        })
    };
    json!({"kind": "changes", "since": since, "changes": changes.iter().map(change).collect::<Vec<_>>()})
}

fn row(row: &Row, ceilings: Option<Ceilings>) -> Value {
    let Row { suite, name, size, compile, runs, bytes, way, calls, work, peers } = row;
    let way = way.as_ref().map(|way| json!({"name": way.name, "lanes": way.lanes, "steps": way.steps}));
    let run = |run: &Run| json!({"threads": run.threads, "seconds": spread(&run.time)});
    let peer = |peer: &Peer| {
        let Peer { name, seconds, on_all_cores } = peer;
        json!({"name": name, "seconds": seconds, "on_all_cores": on_all_cores, "faster": row.beside(peer)})
    };
    let rate = row.rate();
    let share = rate.and_then(|rate| ceilings?.share(rate));
    json!({
        "suite": suite,
        "name": name,
        "size": size.label,
        "size_number": size.number,
        "compile": compile,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
        "bytes": bytes,
        "way": way,
        "calls": calls.as_ref().map(|calls| json!({"together": calls.together, "in_order": calls.in_order})),
        "work": work.map(|work| json!({"of": unit(work), "amount": work.amount()})),
        "per_second": rate.map(Work::amount),
        "of_ceiling": share.map(|(part, ceiling)| json!({"part": part, "ceiling": ceiling})),
        "peers": peers.iter().map(peer).collect::<Vec<_>>(),
    })
}

fn spread(spread: &Spread) -> Value {
    let Spread { runs, least, low, median, high, most, outliers } = spread;
    json!({"runs": runs, "least": least, "low": low, "median": median, "high": high, "most": most, "outliers": outliers})
}

const fn unit(work: Work) -> &'static str {
    match work {
        Work::Bytes(_) => "bytes",
        Work::Operations(_) => "operations",
        Work::Products(_) => "products",
        Work::Frames(_) => "frames",
        Work::Interactions(_) => "interactions",
    }
}

/// Reads what [`write()`] has written.
///
/// # Errors
/// If the text is no JSON, or something is missing: which.
pub fn read(text: &str) -> Result<Figures, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let machine = &value["machine"];
    let rival = |value: &Value| Ok::<_, String>(Rival { name: string(value, "name")?, what: string(value, "what")? });
    let failed = |value: &Value| {
        let (suite, name) = (string(value, "suite")?, string(value, "name")?);
        Ok::<_, String>(Failed { suite, name, why: string(value, "why")? })
    };
    let ceilings =
        |value: &Value| Ok::<_, String>(Ceilings { copy: number(value, "copy")?, fma: number(value, "fma")? });
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
        rivals: all(&value, "rivals", rival)?,
        ceilings: present(&value["ceilings"]).map(ceilings).transpose()?,
        rows: all(&value, "rows", read_row)?,
        failed: all(&value, "failed", failed)?,
    })
}

fn read_row(value: &Value) -> Result<Row, String> {
    let run = |run: &Value| {
        let threads = present(&run["threads"]).map(|_| integer(run, "threads")).transpose()?.map(|n| n as usize);
        Ok::<_, String>(Run { threads, time: read_spread(&run["seconds"])? })
    };
    let peer = |peer: &Value| {
        let on_all_cores = peer["on_all_cores"].as_bool().ok_or_else(|| lacks("truth value", "on_all_cores"))?;
        Ok::<_, String>(Peer { name: string(peer, "name")?, seconds: number(peer, "seconds")?, on_all_cores })
    };
    Ok(Row {
        suite: string(value, "suite")?,
        name: string(value, "name")?,
        size: Size { label: string(value, "size")?, number: number(value, "size_number")? },
        compile: value["compile"].as_f64(),
        runs: all(value, "runs", run)?,
        bytes: value["bytes"].as_u64(),
        way: present(&value["way"]).map(read_way).transpose()?,
        calls: present(&value["calls"]).map(read_calls).transpose()?,
        work: present(&value["work"]).map(read_work).transpose()?,
        peers: all(value, "peers", peer)?,
    })
}

fn read_way(value: &Value) -> Result<Way, String> {
    let lanes = value["lanes"].as_u64().and_then(|lanes| u32::try_from(lanes).ok());
    Ok(Way { name: string(value, "name")?, lanes, steps: value["steps"].as_u64() })
}

fn read_calls(value: &Value) -> Result<Calls, String> {
    let lines =
        |name: &str| all(value, name, |line| line.as_str().map(str::to_owned).ok_or_else(|| lacks("text", name)));
    Ok(Calls { together: lines("together")?, in_order: lines("in_order")? })
}

fn read_spread(value: &Value) -> Result<Spread, String> {
    let time = |name| number(value, name);
    Ok(Spread {
        runs: integer(value, "runs")? as usize,
        least: time("least")?,
        low: time("low")?,
        median: time("median")?,
        high: time("high")?,
        most: time("most")?,
        outliers: integer(value, "outliers")? as usize,
    })
}

fn read_work(value: &Value) -> Result<Work, String> {
    let amount = number(value, "amount")?;
    match &*string(value, "of")? {
        "bytes" => Ok(Work::Bytes(amount)),
        "operations" => Ok(Work::Operations(amount)),
        "products" => Ok(Work::Products(amount)),
        "frames" => Ok(Work::Frames(amount)),
        "interactions" => Ok(Work::Interactions(amount)),
        other => Err(format!("no work is counted in `{other}`")),
    }
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

fn all<T>(value: &Value, name: &str, read: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    value[name].as_array().ok_or_else(|| lacks("list", name))?.iter().map(read).collect()
}
