//! A device for tests: words in, words out, and any error ends the test with the device's own words.

use girih_base::diag::Diagnostic;
use girih_base::span::SourceId;
use girih_base::words;
use girih_ir::{Scalar, Type, text, verify};
use girih_runtime::{Argument, Buffer, Command, Constant, Device, DeviceKind, LoadOptions, Memory, Program, measure};
use std::time::Duration;

/// A device, and how often a launch is timed on it.
pub struct Machine {
    device: Device,
    repeats: usize,
}

fn said(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| format!("{d:?}")).collect::<Vec<_>>().join("\n")
}

impl Machine {
    /// Runs things `repeats` times to time them.
    pub fn new(device: Device, repeats: usize) -> Machine {
        Machine { device, repeats }
    }
    /// What runs it.
    pub fn kind(&self) -> DeviceKind {
        self.device.info().kind
    }
    /// A scalar argument.
    pub fn u32(value: u32) -> Argument {
        Argument::Scalar(Constant { ty: Type::Scalar(Scalar::U32), bits: u64::from(value) })
    }
    /// The programs of these kernels of a text.
    pub fn load<const N: usize>(&mut self, source: &str, kernels: [&str; N]) -> [Program; N] {
        let parsed = text::parse(SourceId::new(0), source).unwrap_or_else(|e| panic!("{}", said(&e)));
        let module = verify(parsed.module).unwrap_or_else(|e| panic!("{}", said(&e)));
        let ids = kernels.map(|k| module.find(k).expect("the kernel stands in the text"));
        let programs =
            self.device.load(&module, &ids, &LoadOptions::default()).unwrap_or_else(|e| panic!("{}", said(&e)));
        programs.try_into().expect("a program for each kernel")
    }
    fn allocate(&mut self, words: usize, indirect: bool) -> Buffer {
        self.device.zeroed(Memory { bytes: 4 * words as u64, indirect }).unwrap_or_else(|e| panic!("{e:?}"))
    }
    /// A buffer of zeros.
    pub fn zeros(&mut self, words: usize) -> Buffer {
        self.allocate(words, false)
    }
    /// A buffer from which grids are read.
    pub fn indirect(&mut self, words: usize) -> Buffer {
        self.allocate(words, true)
    }
    /// A buffer that holds these words.
    pub fn buffer(&mut self, words: &[u32]) -> Buffer {
        let id = self.zeros(words.len());
        self.write(&id, words);
        id
    }
    pub fn write(&mut self, id: &Buffer, words: &[u32]) {
        self.device.write(id, 0, &words::to_bytes(words)).unwrap_or_else(|e| panic!("{e:?}"));
    }
    pub fn read(&mut self, id: &Buffer, words: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * words];
        self.device.read(id, 0, &mut bytes).unwrap_or_else(|e| panic!("{e:?}"));
        words::from_bytes(&bytes)
    }
    /// Runs commands once and says how long they took.
    pub fn time(&mut self, commands: &[Command]) -> Duration {
        self.device.time(commands, 1).unwrap_or_else(|e| panic!("{e:?}")).total()
    }
    /// The median time of a command.
    pub fn median(&mut self, command: Command) -> Duration {
        let commands = [command];
        let timing = match self.repeats {
            0 | 1 => self.device.time(&commands, 1),
            repeats => measure(&self.device, &commands, repeats),
        };
        timing.unwrap_or_else(|e| panic!("{e:?}")).median()
    }
}

/// A number of magnitude 2^-14 to 65504 as f16, the nearest, ties to even; smaller ones become zero.
pub fn f16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    if x.abs() < 2f32.powi(-14) {
        return sign;
    }
    let rest = (bits & 0x7fff_ffff) - ((127 - 15) << 23);
    let rounded = rest + 0xfff + (rest >> 13 & 1);
    sign | (rounded >> 13) as u16
}

/// The number of a finite f16; NaN for what is none.
pub fn from_f16_bits(bits: u16) -> f32 {
    let (sign, exponent, mantissa) = (bits >> 15, i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 => f32::NAN,
        e => (1.0 + mantissa / 1024.0) * 2f32.powi(e - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

#[test]
fn halves_survive() {
    for bits in 0x0400..0x7c00u16 {
        assert_eq!(f16_bits(from_f16_bits(bits)), bits);
        assert_eq!(f16_bits(from_f16_bits(bits | 0x8000)), bits | 0x8000);
    }
}
