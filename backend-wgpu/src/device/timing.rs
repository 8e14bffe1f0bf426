//! Runs between timestamps of the device, or of the host where it has none.

use super::State;
use super::record::Timestamps;
use girih_base::diag::Diagnostic;
use girih_runtime::Timing;
use girih_runtime::driver::Command;
use std::ops::Range;
use std::time::Duration;
use wgpu::Features as F;

/// Runs that one query set serves: it holds at most 4096 timestamps.
const SET: usize = 2048;

impl State {
    /// Runs commands and says how long each run took.
    pub(super) fn timed(&self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let needed = F::TIMESTAMP_QUERY | F::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        let exact = self.device.features().contains(needed) && self.queue.get_timestamp_period() > 0.0;
        let mut timed = vec![];
        while timed.len() < runs {
            let count = (runs - timed.len()).min(SET);
            timed.extend(match exact {
                true => self.timed_by_device(commands, count)?,
                false => vec![self.timed_by_host(commands)?],
            });
        }
        Ok(Timing { runs: timed, exact })
    }

    /// All runs are queued at once, each between two timestamps.
    fn timed_by_device(&self, commands: &[Command], runs: usize) -> Result<Vec<Duration>, Diagnostic> {
        let marks = 2 * runs as u32;
        let (set, resolved) = self.health.run(&self.device, || {
            let set = self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: marks,
            });
            let resolved = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timestamps"),
                size: 8 * u64::from(marks),
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            Ok((set, resolved))
        })?;
        let (steps, traps, parameters) = self.steps(commands)?;
        // A command buffer each: systems that look after the time of a submission do it by command buffers.
        let recorded = (0..runs as u32)
            .map(|run| self.encoded(&steps, Some(Timestamps { set: &set, first: 2 * run })))
            .collect::<Result<Vec<_>, _>>()?;
        self.submit_recorded(recorded, traps)?;
        drop(parameters);
        self.resolve(&set, 0..marks, &resolved)?;
        let mut bytes = vec![0; 8 * marks as usize];
        self.download(None, vec![(resolved, 0, &mut bytes)])?;
        let period = f64::from(self.queue.get_timestamp_period());
        let time = |pair: &[u8]| {
            let (start, end) = pair.split_at(8);
            let [start, end] = [start, end].map(bytemuck::pod_read_unaligned::<u64>);
            Duration::from_nanos((end.saturating_sub(start) as f64 * period) as u64)
        };
        Ok(bytes.chunks_exact(16).map(time).collect())
    }

    fn resolve(&self, set: &wgpu::QuerySet, marks: Range<u32>, into: &wgpu::Buffer) -> Result<(), Diagnostic> {
        self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.resolve_query_set(set, marks, into, 0);
            self.queue.submit([encoder.finish()]);
            Ok(())
        })
    }

    /// One run by the host's clock.
    fn timed_by_host(&self, commands: &[Command]) -> Result<Duration, Diagnostic> {
        let elapsed = self.clocked(self.recorded(commands)?)?;
        self.download(None, vec![])?;
        Ok(elapsed)
    }
}
