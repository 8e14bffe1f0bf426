//! The nets of `hvm` definitions: what they refer to gets its full name.

use super::{Entity, Lowering};
use crate::ast::HvmDef;
use crate::modules::ModuleId;
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::name::Name;
use girih_term::hvm::ast::Net;
use std::collections::BTreeSet;

impl Lowering<'_> {
    pub(super) fn net(&mut self, module: ModuleId, def: &HvmDef) -> Net {
        let mut net = def.net.clone();
        let mut unknown = BTreeSet::new();
        for reference in net.references_mut() {
            match self.full_name_of(module, reference) {
                Some(full) => *reference = full,
                None => _ = unknown.insert(reference.clone()),
            }
        }
        for name in unknown {
            let message = format!("`@{name}` in the net of `{}` is not defined", def.name.node);
            let scope = self.scopes[module].values.keys().chain(self.prelude.values.keys());
            let mut diagnostic = Diagnostic::new(Code::UnboundName, def.name.span, message);
            if let Some(near) = did_you_mean(&name, scope.map(Name::as_str)) {
                diagnostic = diagnostic.hint(format!("did you mean `@{near}`?"));
            }
            self.report(diagnostic);
        }
        net
    }

    fn full_name_of(&self, module: ModuleId, name: &Name) -> Option<Name> {
        let entity = self.scopes[module].values.get(name).or_else(|| self.prelude.values.get(name))?;
        Some(match *entity {
            Entity::Def(def) => self.program.defs[def].name.clone(),
            Entity::Ctor(ctor) => self.program.ctors[ctor].name.clone(),
            Entity::Tag(ctor) => Name::from(format!("{}/tag", self.program.ctors[ctor].name)),
        })
    }
}
