//! Whether a result of the model depends on the order of interchangeable elements.
//!
//! A reduction by symmetry keeps one state for all that differ only in the names of elements. That
//! is sound if rules and properties commute with every renaming: what happens at the image of a
//! state is the image of what happens at the state. By induction over a program that is so if
//!
//! 1. values that stand for elements are only stored, compared for equality, passed, and used as
//!    indices of what is theirs, so that each construct on its own commutes with renamings; and
//! 2. every loop, and every quantifier that stops early, whose passes run in the order of names
//!    has the same outcome in any order, since a renaming turns the passes at a state into the
//!    passes at its image in another order.
//!
//! [`Order::of`] shows the first by the labels of values, and the second loop by loop: passes are
//! independent of their order if none reads or overwrites what another one writes, but for updates
//! that commute (`passes`). An index by the loop's own element is another place in each pass.
//! A loop that is not proved independent is checked wherever it is reached ([`Order::checks`]); if
//! that would take too long, or something distinguishes elements in any order, the model is
//! rejected ([`Order::rejections`]).
//!
//! Slots of multisets are treated as elements: which slot an element has depends on names (bags are
//! sorted) and on the order of insertions. The slot that an insertion takes can be observed only
//! through the number of a slot that was freed and filled again, so that is rejected.
//!
//! Startstates are exempt: a search visits the orbits of the startstates there are, and symmetric
//! rules lead from all states of an orbit to the same orbits.
//!
//! Which of several faults is reported may depend on names; that there is one does not. For an
//! invariant, false and fault count as one outcome.
//!
//! - `label`: which integers stand for elements.
//! - `spot`: abstract places, and when two passes can access the same one.
//! - `env`: the facts at a point of an item.
//! - `mentions`: facts about locals that need no walk.
//! - `walk`, `stmts`, `updates`, `selectors`, `exprs`, `places`, `calls`, `accesses`, `loops`: an
//!   abstract interpretation of rules, properties and measures that records, for each loop, what one pass
//!   reads and writes.
//! - `passes`: the decision about one loop.
//! - `names`: places in words.

mod accesses;
mod calls;
mod env;
mod exprs;
mod label;
mod loops;
mod mentions;
mod names;
mod passes;
mod places;
mod selectors;
mod spot;
mod stmts;
mod updates;
mod walk;

use std::collections::BTreeMap;

use hadal_ir::interp::{CheckedLoop, Interpreter, Item, MAX_PASSES, OrderChecks};
use hadal_ir::{LocalId, Program, SiteId};

use label::has_elements;
use mentions::Mentions;
use passes::Reason;
use walk::{LoopFacts, Walk};

/// Passes that the check of a loop and of those inside it may take at one state.
const MAX_CHECKED_PASSES: u64 = 1 << 16;

/// How a model treats the order of interchangeable elements.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Loops and quantifiers in the order of names that are proved independent of it.
    pub proved: Vec<CheckedLoop>,
    /// Those that are checked wherever they are reached.
    pub checks: OrderChecks,
    /// For each of these, why it is not proved.
    pub doubts: Vec<Vec<Note>>,
    /// Why the model cannot be reduced by symmetry.
    pub rejections: Vec<Rejection>,
}

/// A sentence about a place in the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Where.
    pub site: SiteId,
    /// What.
    pub text: String,
}

/// Something that distinguishes elements, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejection {
    /// Where.
    pub site: SiteId,
    /// What, as a sentence.
    pub message: String,
    /// Where it comes from.
    pub notes: Vec<Note>,
}

impl Order {
    /// Analyses the rules and properties of a verified program.
    pub fn of(interpreter: &Interpreter) -> Self {
        let program = interpreter.program();
        let items = (0..program.rules.len() as u32).map(Item::Rule);
        let properties = (0..program.properties.len() as u32).map(Item::Property);
        let items: Vec<Item> = items.chain(properties).collect();
        Order::of_items(interpreter, &items)
    }

    /// Whether a property's condition, a measure, or the result of a function with any arguments, is
    /// the same at all states of an orbit. Where not, this is why.
    ///
    /// A goal, heuristic or cost must be: the search sees one state of each orbit.
    pub fn of_expression(interpreter: &Interpreter, item: Item) -> Result<(), Vec<Rejection>> {
        let program = interpreter.program();
        let mut order = Order::of_items(interpreter, &[item]);
        for (checked, doubts) in order.checks.loops.iter().zip(order.doubts) {
            order.rejections.push(Rejection {
                site: checked.site,
                message: "the value may depend on the order of elements".to_owned(),
                notes: doubts,
            });
        }
        let (types, site) = match item {
            Item::Function(id) => {
                let function = program.function(id);
                let params = &function.frame.locals[..function.params.len()];
                let params = params.iter().map(|local| local.kind.ty());
                (params.chain(function.result).collect(), function.site)
            }
            Item::Property(number) => {
                let property = &program.properties[number as usize];
                let locals = property.params.iter().map(|param| param.local);
                let types = locals.map(|local| property.frame.local(local).kind.ty());
                (types.collect(), property.site)
            }
            // It has no parameters.
            Item::Measure(number) => (Vec::new(), program.measures[number as usize].site),
            Item::Rule(_) | Item::Start(_) => (Vec::new(), SiteId::new(0)),
        };
        let types: Vec<hadal_ir::TypeId> = types;
        if types.iter().any(|ty| has_elements(&program.types, *ty)) {
            order.rejections.push(Rejection {
                site,
                message: "this is about single elements, which have other names at other states \
                          of the orbit"
                    .to_owned(),
                notes: Vec::new(),
            });
        }
        match order.rejections.is_empty() {
            true => Ok(()),
            false => Err(order.rejections),
        }
    }

    fn of_items(interpreter: &Interpreter, items: &[Item]) -> Self {
        let program = interpreter.program();
        let moves = program.types.scalarsets.iter().any(|set| set.size > 1);
        if !moves {
            return Order::default();
        }
        let definedness = interpreter.definedness();
        let mentions = Mentions::of(program);
        let limits = interpreter.limits();
        let mut walk = Walk::new(program, definedness, &mentions, limits, true);
        walk.items(items);
        let mut unknown = walk.unknown.clone();
        let mut loops = std::mem::take(&mut walk.loops);
        let mut breaks = std::mem::take(&mut walk.breaks);
        if walk.gave_up() {
            // Reads that make a local shared may not have been seen.
            loops.values_mut().for_each(|facts| facts.private.clear());
            // Too much to follow every call: each item is analysed on its own, and the order of
            // every loop is checked at run time.
            unknown.extend(mentions.functions_of(items));
            let mut walk = Walk::new(program, definedness, &mentions, limits, false);
            walk.items(items);
            if walk.gave_up() {
                let message = "the model is too large to show that it treats elements alike";
                breaks.insert(walk::Break {
                    site: SiteId::new(0),
                    message: message.to_owned(),
                });
            }
            breaks.append(&mut walk.breaks);
            for named in &mentions.loops {
                if items.contains(&named.key.0) {
                    doubt(&mut loops, named, "is in a model too large to be proved");
                }
            }
        }
        let unknown = mentions.functions_from(&unknown);
        for named in &mentions.loops {
            if matches!(named.key.0, Item::Function(id) if unknown.contains(&id)) {
                doubt(&mut loops, named, "is in a function that is not followed");
            }
        }
        let mut order = Order::default();
        for found in breaks {
            order.rejections.push(Rejection {
                site: found.site,
                message: found.message,
                notes: Vec::new(),
            });
        }
        order.sort_out(program, &loops);
        order
    }

    /// Decides each loop.
    fn sort_out(&mut self, program: &Program, loops: &BTreeMap<(Item, LocalId), LoopFacts>) {
        for (&(item, var), facts) in loops {
            let Some(site) = facts.site else { continue };
            let private = facts.private.difference(&facts.not_private);
            let this = CheckedLoop {
                item,
                var,
                site,
                private: match facts.is_blind {
                    true => Vec::new(),
                    false => private.copied().collect(),
                },
            };
            if facts.reasons.is_empty() {
                self.proved.push(this);
                continue;
            }
            let note = |reason: &Reason| Note {
                site: reason.site,
                text: format!("an iteration {}", reason.text),
            };
            let notes: Vec<Note> = facts.reasons.iter().map(note).collect();
            let cost = |facts: &LoopFacts| match facts.has_effects {
                true if facts.n_passes > MAX_PASSES as u64 => u64::MAX,
                true => facts.n_passes << facts.n_passes,
                false => facts.n_passes,
            };
            let around = facts.around.iter().filter_map(|key| loops.get(key));
            let around = around.filter(|outer| !outer.reasons.is_empty());
            let total = around.fold(cost(facts), |product, outer| {
                product.saturating_mul(cost(outer))
            });
            if total > MAX_CHECKED_PASSES && facts.has_effects {
                let name = &item.frame(program).local(var).name;
                let n = facts.n_passes;
                let message = match n > MAX_PASSES as u64 {
                    true => format!(
                        "the order in which `{name}` takes its {n} values may make a difference, \
                         and they are too many to try all orders (at most {MAX_PASSES})"
                    ),
                    false => format!(
                        "the order in which `{name}` takes its {n} values may make a difference, \
                         and with the loops around it there are too many orders to try"
                    ),
                };
                self.rejections.push(Rejection {
                    site,
                    message,
                    notes,
                });
                continue;
            }
            self.checks.loops.push(this);
            self.doubts.push(notes);
        }
    }
}

/// Schedules a check of a loop that was not walked.
fn doubt(
    loops: &mut BTreeMap<(Item, LocalId), LoopFacts>,
    named: &mentions::NamedLoop,
    text: &str,
) {
    let facts = loops.entry(named.key).or_default();
    facts.site = facts.site.or(Some(named.site));
    facts.n_passes = facts.n_passes.max(named.n_passes);
    facts.has_effects |= named.quantifier.is_none();
    facts.reasons.insert(Reason {
        site: named.site,
        text: text.to_owned(),
    });
}
