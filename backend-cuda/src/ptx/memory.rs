//! Loads and stores.

use super::registers::{Class, Home};
use super::render::{Renderer, ptx};
use girih_ir::attrs::Cache;
use girih_ir::{Attr, AttrKind, Inst, Scalar, Space, Type};

/// The name of a space in instructions.
pub(super) fn space(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Private => "local",
    }
}

impl Renderer<'_> {
    /// `load`.
    pub fn load(&mut self, inst: &Inst) {
        let (memory, index) = (inst.operands[0], inst.operands[1]);
        let ty = self.function.ty(inst.results[0]);
        let address = self.address(memory, index, inst.offset(), ty.bytes());
        let at = self.function.space(memory);
        let constant = at == Space::Global && self.function.param_attrs(memory).readonly;
        let home = self.home(inst.results[0]);
        let (access, list) = (access(ty, true), registers(home));
        if inst.has(AttrKind::Volatile) {
            return ptx!(self, "ld.volatile.{}.{access} {list}, {address}", space(at));
        }
        let (hint, constant) = (hint(inst, at), if constant { ".nc" } else { "" });
        ptx!(self, "ld.{}{hint}{constant}.{access} {list}, {address}", space(at));
    }

    /// `store`.
    pub fn store(&mut self, inst: &Inst) {
        let (memory, index) = (inst.operands[0], inst.operands[1]);
        let value = inst.operands[2];
        let ty = self.function.ty(value);
        let address = self.address(memory, index, inst.offset(), ty.bytes());
        let at = self.function.space(memory);
        let list = match self.function.as_constant(value) {
            Some(_) => self.reg(value).to_string(),
            None => registers(self.home(value)),
        };
        ptx!(self, "st.{}{}.{} {address}, {list}", space(at), hint(inst, at), access(ty, false));
    }

    /// `uniform_load`.
    pub fn uniform_load(&mut self, inst: &Inst) {
        ptx!(self, "bar.sync 0");
        self.load(inst);
        ptx!(self, "bar.sync 0");
    }
}

/// The registers of a value as an instruction takes them.
pub(super) fn registers(home: Home) -> String {
    if home.count == 1 {
        return home.reg(0).to_string();
    }
    let list: Vec<String> = home.regs().map(|r| r.to_string()).collect();
    format!("{{{}}}", list.join(", "))
}

/// The width of an access, with the vector's length.
fn access(ty: Type, load: bool) -> String {
    let short = |scalar: Scalar| match (scalar, load) {
        (Scalar::I8, true) => "s8",
        (Scalar::I16, true) => "s16",
        (Scalar::I8 | Scalar::U8 | Scalar::F8E4M3 | Scalar::F8E5M2, _) => "u8",
        (Scalar::I16 | Scalar::U16, _) => "u16",
        _ => "b16",
    };
    match (ty, ty.bytes()) {
        (Type::Scalar(scalar), 1 | 2) => short(scalar).into(),
        (_, 2) => "u16".into(),
        (_, 4) => "b32".into(),
        (Type::Scalar(_), _) => "b64".into(),
        (_, bytes) => {
            let (class, count) = super::registers::shape(ty);
            let width = if class == Class::B64 { "b64" } else { "b32" };
            debug_assert_eq!(bytes, count * if class == Class::B64 { 8 } else { 4 });
            format!("v{count}.{width}")
        }
    }
}

/// The caching hint of an access to a buffer.
fn hint(inst: &Inst, at: Space) -> &'static str {
    match inst.attr(AttrKind::Cache) {
        Some(Attr::Cache(Cache::Streaming)) if at == Space::Global => ".cs",
        Some(Attr::Cache(Cache::Global)) if at == Space::Global => ".cg",
        _ => "",
    }
}
