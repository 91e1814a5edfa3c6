//! Claims about runs: after the search of the model, one of the product with each claim.
//!
//! A claim restricts the runs that its product has, so everything else, counts included, is found
//! without it. Products are searched once the model itself was, and only if nothing there is wrong
//! that would end runs in the products as well. They share the budget of the check one after the
//! other. A product has a scratch folder, whatever the model has: a check that is stopped while it
//! searches a product is resumed with what the model's own folder holds, and searches its products
//! from their beginning.

use std::collections::HashSet;
use std::fmt;

use hadal_model::{FaultKind, Model};
use hadal_search::{
    Deadlock, Observer, Omission, Outcome, Reason, Verdict, Violation, ViolationKind,
};

use crate::check::Check;
use crate::checked::Checked;
use crate::folder::Disk;
use crate::{Error, SearchOptions};

/// A claim of a loaded model.
pub struct LoadedClaim {
    /// Its name.
    pub name: String,
    /// Its number among the properties of the model.
    pub property: usize,
    /// Why it is not decided, or not all that it asks for.
    pub open: Option<String>,
    /// The product, where there is one to be searched.
    pub(crate) product: Option<Box<dyn Model>>,
}

impl LoadedClaim {
    /// Whether there is a product to be searched.
    pub fn is_searchable(&self) -> bool {
        self.product.is_some()
    }

    /// Whether a rule of this name is one of the claim.
    pub(crate) fn has_rule(&self, rule: &str) -> bool {
        let rest = rule.strip_prefix(self.name.as_str());
        rest.is_some_and(|rest| rest.starts_with(" line "))
    }

    /// The product, if there is one.
    pub(crate) fn product(&self) -> Option<&dyn Model> {
        self.product.as_deref()
    }
}

impl fmt::Debug for LoadedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("LoadedClaim");
        out.field("name", &self.name)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// What the search of a product counted.
#[derive(Clone, Debug)]
pub struct ProductCounts {
    /// The name of the claim.
    pub name: String,
    /// Distinct states of the product.
    pub states: u64,
    /// Its transitions.
    pub transitions: u64,
    /// Its layers after the startstates.
    pub depth: u32,
    /// Whether every state was visited.
    pub is_exhausted: bool,
}

/// Searches the products of the claims, and adds what that finds out to the result.
pub(crate) fn decide(checked: &mut Checked<'_>, observer: &mut dyn Observer) -> Result<(), Error> {
    let Some(loaded) = checked.loaded() else {
        return Ok(());
    };
    if !asks_for_products(&checked.outcome) {
        return Ok(());
    }
    let max_errors = checked.search_options().max_errors.max(1) as usize;
    let was_unchecked = checked.outcome.reason == Some(Reason::Unchecked);
    let mut stopped = None;
    for claim in &loaded.claims {
        let Some(product) = &claim.product else {
            continue;
        };
        let room = max_errors.saturating_sub(checked.outcome.violations.len());
        if room == 0 || stopped.is_some() {
            break;
        }
        let outcome = distinct(checked, &**product, room, observer)?;
        checked.products.push(ProductCounts {
            name: claim.name.clone(),
            states: outcome.states,
            transitions: outcome.transitions,
            depth: outcome.depth,
            is_exhausted: outcome.reason.is_none() && outcome.violations.is_empty(),
        });
        stopped = outcome.reason;
        checked.outcome.holds[claim.property] = match (outcome.verdict, &claim.open) {
            (Verdict::Violated, _) => Some(false),
            (Verdict::Verified, None) => Some(true),
            _ => None,
        };
        merge(&mut checked.outcome, &outcome);
        let of_claim = |violation| Violation {
            property: Some(claim.property as u32),
            ..violation
        };
        let violations = outcome.violations.into_iter().map(of_claim);
        checked.outcome.violations.extend(violations);
    }
    let is_open = |claim: &LoadedClaim| checked.outcome.holds[claim.property].is_none();
    let is_open = loaded.claims.iter().any(is_open);
    let outcome = &mut checked.outcome;
    if was_unchecked {
        outcome.reason = match outcome.violations.is_empty() {
            true if stopped.is_some() => stopped,
            true => is_open.then_some(Reason::Unchecked),
            false => stopped,
        };
        outcome.complete = outcome.reason.is_none() && outcome.violations.is_empty();
    }
    // The search of the model may have come to its end with violations.
    let all_exhausted = checked.products.iter().all(|it| it.is_exhausted);
    outcome.complete &= !is_open && all_exhausted;
    outcome.verdict = match (outcome.violations.is_empty(), outcome.complete) {
        (false, _) => Verdict::Violated,
        (true, true) => Verdict::Verified,
        (true, false) => Verdict::Incomplete,
    };
    Ok(())
}

/// Whether products can be searched after a search of the model: it came to its end or its bound,
/// and what it found are ends and assertions, which products do not have.
fn asks_for_products(outcome: &Outcome) -> bool {
    let came_to_its_end = matches!(
        outcome.reason,
        None | Some(Reason::Unchecked | Reason::Bound)
    );
    let is_left_out = |violation: &Violation| {
        matches!(
            violation.kind,
            ViolationKind::Deadlock | ViolationKind::Fault(FaultKind::Assertion)
        )
    };
    came_to_its_end && outcome.violations.iter().all(is_left_out)
}

/// Searches a product up to `room` violations that differ in kind or place.
///
/// A guard that faults does so in every rule that evaluates it, and a search counts these apart. If
/// such repetitions take the room of others, the product is searched once more with room for both.
fn distinct<'a>(
    checked: &Checked<'a>,
    product: &'a dyn Model,
    room: usize,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let mut n_repeated = 0;
    loop {
        let max_errors = room.saturating_add(n_repeated);
        let given = u32::try_from(max_errors).unwrap_or(u32::MAX);
        let mut outcome = search(checked, product, given, observer)?.outcome;
        let n_found = outcome.violations.len();
        let mut places = HashSet::new();
        let is_new = |it: &Violation| places.insert((it.kind, it.at.clone()));
        outcome.violations.retain(is_new);
        let n_distinct = outcome.violations.len();
        let was_cut = n_found >= max_errors && n_distinct < room;
        if !was_cut || outcome.reason.is_some() {
            outcome.violations.truncate(room);
            return Ok(outcome);
        }
        n_repeated = n_found - n_distinct;
    }
}

/// Searches a product as the model was searched, up to `max_errors` violations.
fn search<'a>(
    checked: &Checked<'a>,
    product: &'a dyn Model,
    max_errors: u32,
    observer: &mut dyn Observer,
) -> Result<Checked<'a>, Error> {
    let prepared = &checked.prepared;
    let uses_disk = prepared.folder.is_some() || prepared.no_scratch.is_some();
    let name = prepared.model.name();
    let check = Check::of(product)
        .name(name)
        .search(SearchOptions {
            deadlock: Deadlock::Off,
            max_errors,
            ..prepared.question.search.clone()
        })
        .resources(prepared.resources.clone())
        .disk_use(if uses_disk { Disk::Scratch } else { Disk::None })
        .stop(prepared.stop)
        .since(prepared.since);
    // A product has no estimates.
    let strategy = prepared.strategy.given().filter(|it| !it.needs_estimates());
    let check = match strategy {
        Some(strategy) => check.strategy(strategy),
        None => check,
    };
    check.prepare()?.run_with(observer)
}

/// Adds what a search of a product needed and may have missed.
fn merge(outcome: &mut Outcome, product: &Outcome) {
    outcome.data_bytes = outcome.data_bytes.max(product.data_bytes);
    outcome.disk.peak_bytes = outcome.disk.peak_bytes.max(product.disk.peak_bytes);
    outcome.disk.read_bytes += product.disk.read_bytes;
    outcome.disk.written_bytes += product.disk.written_bytes;
    outcome.seconds.trace += product.seconds.trace;
    outcome.omission = match (outcome.omission, product.omission) {
        (Some(model), Some(product)) => Some(Omission {
            any: (model.any + product.any).min(1.0),
            given_error: model.given_error.max(product.given_error),
        }),
        (model, product) => model.or(product),
    };
}
