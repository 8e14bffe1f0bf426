//! A net in the middle of its reduction, as text and as a picture: what happens between a program and its result.

use super::Nets;
use crate::error::Error;
use crate::stack::on_big_stack;
use girih_base::span::Span;
use girih_net::picture;
use girih_net::readback;
use girih_net::reduce::{Limits, Machine};
use girih_net::rules::Rule;
use girih_term::hvm::ast::{Book, Definition, Net};

/// The most redexes and nodes of a net that is drawn; nobody sees anything in a larger picture.
const MOST_DRAWN: usize = 600;

/// What a net is after some interactions.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// How many interactions were done: as many as were asked for, or fewer if the net had come to its normal form.
    pub steps: u64,
    /// The rule of the last one; none before the first.
    pub rule: Option<&'static str>,
    /// Whether nothing is left to be done.
    pub is_normal: bool,
    /// The net as text.
    pub text: String,
    /// A picture of it (SVG), unless it is too large to be looked at.
    pub picture: Option<String>,
}

impl Nets {
    /// Calls a definition, `main` if none is named, does so many interactions one after the other, and gives what the net is then. Effects are not performed.
    ///
    /// ```
    /// use girih::nets::Nets;
    ///
    /// let nets = Nets::from_text("square.hvm", "@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n")?;
    /// let first = nets.after(None, 0, &Default::default())?;
    /// assert_eq!((first.text.as_str(), first.is_normal), ("v0 & (7 v0) ~ @square", false));
    /// let last = nets.after(None, 100, &Default::default())?;
    /// assert_eq!((last.steps, last.rule, last.text.as_str(), last.is_normal), (6, Some("operate"), "49", true));
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such definition, a limit is met, or an operation has no result.
    pub fn after(&self, entry: Option<&str>, steps: u64, limits: &Limits) -> Result<Snapshot, Error> {
        let report = |error| Error::new(self.sources.clone(), vec![error]);
        let entry = self.entry(entry).map_err(report)?;
        let mut machine = Machine::new(&self.book, limits.clone());
        let root = machine.place(entry).map_err(report)?;
        let (mut done, mut last) = (0, None);
        while done < steps {
            let Some(rule) = machine.step().map_err(report)? else { break };
            // Joining the ends of a wire changes nothing that is drawn.
            done += u64::from(rule != Rule::Link);
            last = Some(rule.name());
        }
        let (nodes, _) = machine.heap.live();
        let is_small = nodes + machine.waiting().count() <= MOST_DRAWN;
        let (text, picture) = on_big_stack(|| {
            let net = readback::net(&machine, root);
            (net.to_string(), is_small.then(|| drawn(&net)))
        });
        Ok(Snapshot { steps: done, rule: last, is_normal: machine.is_done(), text, picture })
    }
}

/// The picture of a net that has no name.
fn drawn(net: &Net) -> String {
    let definition = Definition { name: "net".into(), span: Span::NONE, net: net.clone(), mentions: vec![] };
    picture::svg(&Book { definitions: vec![definition] })
}
