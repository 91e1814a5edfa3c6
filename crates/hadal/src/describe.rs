//! Violations as sentences.

use hadal_model::{FaultKind, Phase, PropertyKind, Shape};
use hadal_report::units::counted;
use hadal_search::{Violation, ViolationKind};

use crate::trace::quote;

/// What is wrong and after how many steps, in one line.
pub fn described(violation: &Violation, shape: &Shape) -> String {
    format!("{}{}", describe(violation, shape), after(violation))
}

/// A fault of what a language calls `firing`, `process(pid) line n: statement`: what is wrong in
/// which process, and in which line.
pub(crate) fn describe_firing(violation: &Violation, firing: &str) -> String {
    let process = firing.split_once(" line ").map_or(firing, |it| it.0);
    let line = violation.at.rsplit_once(':').map_or("", |it| it.0);
    let at = if line.is_empty() { "" } else { " at " };
    format!("{}, in {process}{at}{line}", violation.message)
}

/// What is wrong, in one line.
pub fn describe(violation: &Violation, shape: &Shape) -> String {
    let name = quote(&violation.name);
    let parameters = parameter_list(&violation.parameters);
    match violation.kind {
        ViolationKind::Invariant if violation.is_goal(shape) => {
            format!("the goal {name} holds")
        }
        ViolationKind::Invariant => format!("invariant {name}{parameters} is false"),
        ViolationKind::Deadlock if violation.message.starts_with("invalid end state") => {
            violation.message.clone()
        }
        ViolationKind::Deadlock => format!("deadlock: {}", violation.message),
        ViolationKind::Cover => format!("cover {name}{parameters} is never reached"),
        ViolationKind::Liveness => {
            format!(
                "liveness {name}{parameters}: a state is reached from which it cannot hold again"
            )
        }
        // The message names the claim, which is what matters.
        ViolationKind::Fault(FaultKind::Claim) => violation.message.clone(),
        ViolationKind::Fault(kind) => {
            let message = match kind {
                FaultKind::Assertion if violation.message.starts_with("assertion violated") => {
                    violation.message.clone()
                }
                FaultKind::Assertion => format!("assertion {} fails", quote(&violation.message)),
                FaultKind::Error => format!("error {}", quote(&violation.message)),
                // A sentence that ends in what happens in which order.
                FaultKind::OrderDependence => format!("{},", violation.message),
                _ => violation.message.clone(),
            };
            let place = match violation.phase {
                Some(Phase::Start) => format!("in startstate {name}{parameters}"),
                Some(Phase::Guard) => format!("in the guard of rule {name}{parameters}"),
                Some(Phase::Property) => {
                    let kind = kind_of(violation, shape).map_or("property", PropertyKind::name);
                    format!("in {kind} {name}{parameters}")
                }
                Some(Phase::Body) | None => format!("in rule {name}{parameters}"),
            };
            format!("{message} {place}")
        }
    }
}

/// The kind of the property that is violated, if one is.
fn kind_of(violation: &Violation, shape: &Shape) -> Option<PropertyKind> {
    let property = shape.properties.get(violation.property? as usize)?;
    Some(property.kind)
}

/// When it happens, as the end of a sentence; empty where that is no news.
pub fn after(violation: &Violation) -> String {
    match violation.kind {
        ViolationKind::Cover => String::new(),
        _ if violation.phase == Some(Phase::Start) => String::new(),
        _ if violation.depth == 0 && violation.phase == Some(Phase::Property) => {
            ", in a startstate".to_owned()
        }
        ViolationKind::Fault(FaultKind::OrderDependence) if violation.depth == 0 => {
            ", in the first step".to_owned()
        }
        ViolationKind::Fault(_) if violation.depth == 0 => ", the first step".to_owned(),
        _ if violation.depth == 0 => ", in a startstate".to_owned(),
        _ => {
            let steps = counted(violation.depth.into(), "step");
            match violation.cost {
                Some(cost) => format!(", after {steps} of cost {cost}"),
                None => format!(", after {steps}"),
            }
        }
    }
}

/// Parameters in parentheses, after a space; empty where there are none.
pub fn parameter_list(parameters: &[(String, String)]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let list: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!(" ({})", list.join(", "))
}
