//! What compiling a Triton kernel came to in an earlier process: from the source and the request to the digest of its module, without reading Python again.
//!
//! What is kept of a kernel is its head, the digest under which its [program](crate::kernels::programs) is kept, and what its imports led to. It is found by the compiler, the device,
//! the file and the request; numbers that only pass through count as what may be assumed of them, so that a launch for another size finds it too.
//! Only what had no error is kept, so errors are said each time.
//!
//! Invariant: what is found is what compiling would give. All that it was made from is in the key, or is compared.

use super::{Folders, KernelFile};
use crate::kernels::programs::about;
use girih_base::pack::{Packer, Unpacker};
use girih_base::span::Sources;
use girih_cache::{Cache, Key};
use girih_runtime::Device;
use girih_triton::{Argument, Head, LoadedFile, Loader, Request};
use std::cell::RefCell;

/// Counts what this file writes: another form gets another number.
const FORM: u32 = 5;

/// What a file asked for when it was compiled, and got.
#[derive(Clone, Debug)]
pub(super) struct Import {
    from: String,
    up: usize,
    path: String,
    found: Option<LoadedFile>,
}

/// Finds modules, and notes which.
#[derive(Debug, Default)]
pub(super) struct Noting {
    imports: RefCell<Vec<Import>>,
}

impl Noting {
    /// What was asked for, in order.
    pub fn imports(self) -> Vec<Import> {
        self.imports.into_inner()
    }
}

impl Loader for Noting {
    fn module(&self, from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String> {
        let found = Folders.module(from, up, path)?;
        let import = Import { from: from.to_owned(), up, path: path.to_owned(), found: found.clone() };
        self.imports.borrow_mut().push(import);
        Ok(found)
    }
}

/// What was compiled for a request.
#[derive(Debug)]
pub(super) struct Made<'a> {
    pub head: &'a Head,
    pub sources: &'a Sources,
    pub imports: &'a [Import],
    /// Which configuration it is compiled in.
    pub configuration: usize,
    /// What the kernel's program is kept under.
    pub digest: Key,
}

/// A kernel that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub head: Head,
    pub sources: Sources,
    pub configuration: usize,
    pub digest: Key,
}

/// What is kept for a file and a device.
#[derive(Debug)]
pub(super) struct Store<'f> {
    cache: Cache,
    file: &'f KernelFile,
}

impl<'f> Store<'f> {
    /// The store of a file's folder; none if it has none.
    pub fn new(file: &'f KernelFile, device: &Device) -> Option<Store<'f>> {
        let context = format!("{FORM} {}\n{}", girih_triton::IDENTITY, about(device));
        Some(Store { cache: Cache::new(file.folder.as_deref()?, "kernels", context), file })
    }

    /// The kernel of a request, if it is kept, and all that it was made from is as it was.
    pub fn find(&self, request: &Request, way: &str) -> Option<Found> {
        let mut bytes = self.cache.get(self.key(request, way, None))?;
        let mut from = Unpacker::new(&bytes);
        let exact = from.list(|from| from.text().map(str::to_owned))?;
        if !exact.is_empty() {
            from.end()?;
            bytes = self.cache.get(self.key(request, way, Some(&exact)))?;
            from = Unpacker::new(&bytes);
        }
        let sources = self.sources(&mut from)?;
        let head = Head::unpack(&mut from)?;
        let configuration = usize::try_from(from.number()?).ok()?;
        let digest = Key::from_bytes(from.piece()?)?;
        from.end()?;
        Some(Found { head, sources, configuration, digest })
    }

    /// Keeps a kernel.
    pub fn keep(&self, request: &Request, way: &str, made: &Made<'_>) {
        let mut to = Packer::default();
        let exact = &made.head.exact;
        to.list(exact, |to, name| {
            to.piece(name);
        });
        let mut key = self.key(request, way, None);
        if !exact.is_empty() {
            // Which numbers count is kept by itself, and the kernel by these numbers.
            self.cache.put(key, &std::mem::take(&mut to).finish());
            key = self.key(request, way, Some(exact));
        }
        if self.write_sources(&mut to, made.sources, made.imports) {
            made.head.pack(&mut to);
            to.number(made.configuration as u64).piece(made.digest);
            self.cache.put(key, &to.finish());
        }
    }

    /// The name of a request where these numbers count as they are, and others as what may be assumed of them.
    fn key(&self, request: &Request, way: &str, exact: Option<&[String]>) -> Key {
        let mut request = request.clone();
        for (name, argument) in &mut request.arguments {
            if exact.is_none_or(|exact| !exact.contains(name)) {
                *argument = Argument::representative(argument);
            }
        }
        self.key_of(&format!("{request:?} {}", exact.is_some()), way)
    }

    fn key_of(&self, request: &str, way: &str) -> Key {
        let parts = [way, request, &self.file.name, &self.file.text];
        self.cache.key(&parts.map(str::as_bytes))
    }

    /// Writes what imports led to, and the files in their order. False if a file is not from an import.
    fn write_sources(&self, to: &mut Packer, sources: &Sources, imports: &[Import]) -> bool {
        to.list(imports, |to, import| {
            to.piece(&import.from).number(import.up as u64).piece(&import.path);
            match &import.found {
                Some(file) => to.number(1u8).piece(&file.name).piece(self.digest(&file.text)),
                None => to.number(0u8),
            };
        });
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        to.list(&names, |to, name| {
            to.piece(name);
        });
        let imported = |name: &str| imports.iter().filter_map(|i| i.found.as_ref()).any(|file| file.name == name);
        names.first().is_some_and(|own| *own == self.file.name) && names.iter().skip(1).all(|name| imported(name))
    }

    /// The files, if imports still lead to the same ones, with the same texts.
    fn sources(&self, from: &mut Unpacker<'_>) -> Option<Sources> {
        let mut files: Vec<LoadedFile> = vec![];
        from.list(|from| {
            let (importing, up, path) = (from.text()?, from.small()?, from.text()?);
            let found = Folders.module(importing, up, path).ok()?;
            match (from.number()?, found) {
                (0, None) => Some(()),
                (1, Some(file)) => {
                    let same = from.text()? == file.name && from.piece()? == self.digest(&file.text).as_ref();
                    files.push(file);
                    same.then_some(())
                }
                _changed => None,
            }
        })?;
        let mut sources = Sources::default();
        let mut own = Some(&self.file.text);
        from.list(|from| {
            let name = from.text()?;
            // The kernel's own file comes first.
            let text = own.take().or_else(|| files.iter().find(|file| file.name == name).map(|file| &file.text))?;
            Some(sources.add(name, text.as_str()))
        })?;
        Some(sources)
    }

    fn digest(&self, text: &str) -> Key {
        self.cache.key(&[text.as_bytes()])
    }
}

#[cfg(test)]
mod tests;
