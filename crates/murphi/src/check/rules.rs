//! Rules, startstates and properties, and the rulesets, aliases and choices around them.
//!
//! What stands around rules is lowered once, into a frame and a prologue that every rule inside
//! begins with. So an error there is reported once, and all rules number those locals alike.

use hadal_ir::{
    Block, Frame, Guard, Param, ParamDomain, Property, PropertyKind as IrProperty, Root,
    Rule as IrRule, Start,
};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::scope::Def;
use super::unit::Unit;
use crate::ast::{
    Alias, Decl, Designator, Expr, Name, Priority, PropertyKind, Quantifier, Rule, RuleKind, Stmt,
    Text,
};

/// Parameters and aliases around one rule; each rule has its own copy of them.
const AROUND_MAX: usize = 128;

/// Instances of a cover or liveness property; each is a property of its own.
const GOALS_MAX: u64 = 1 << 16;

/// Number of each kind so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) rules: usize,
    pub(super) starts: usize,
    properties: [usize; 4],
}

/// What encloses the current rule, besides the locals.
#[derive(Debug, Clone)]
pub(super) struct Around {
    params: Vec<Param>,
    /// The names of the parameters.
    names: Vec<Name>,
    prologue: Block,
    /// The number of instances, unless it is too large.
    n_instances: Option<u64>,
}

impl Default for Around {
    fn default() -> Self {
        Around {
            params: Vec::new(),
            names: Vec::new(),
            prologue: Block::new(),
            n_instances: Some(1),
        }
    }
}

impl Checker<'_> {
    /// A rule, startstate or property, or something around such.
    pub(super) fn rule(&mut self, rule: &Rule) {
        if self.stop.is_raised() {
            return;
        }
        match &rule.kind {
            RuleKind::Error => {}
            RuleKind::Simple {
                priority,
                name,
                guard,
                decls,
                body,
            } => {
                let parts = (guard.as_ref(), &decls[..], &body[..]);
                self.simple_rule(rule.span, *priority, name.as_ref(), parts);
            }
            RuleKind::Startstate { name, decls, body } => {
                self.startstate(rule.span, name.as_ref(), decls, body);
            }
            RuleKind::Property {
                kind,
                message,
                condition,
            } => self.property(rule.span, *kind, message.as_ref(), condition),
            RuleKind::Ruleset { quantifiers, rules } => self.ruleset(quantifiers, rules),
            RuleKind::Alias { aliases, rules } => self.alias_rules(aliases, rules),
            RuleKind::Choose {
                name,
                multiset,
                rules,
            } => self.choose(name, multiset, rules),
        }
    }

    /// Lowers rules in an extended context, and restores the context afterwards.
    fn inside(&mut self, enter: impl FnOnce(&mut Self), rules: &[Rule], span: Span) {
        let n_locals = self.unit.frame.locals.len();
        let bits = self.unit.bits;
        let around = self.around.clone();
        self.scopes.push();
        enter(self);
        let n_around = self.unit.frame.locals.len();
        if n_around > AROUND_MAX && n_locals <= AROUND_MAX {
            let message = format!("more than {AROUND_MAX} parameters and aliases around rules");
            self.report(Diagnostic::error(message, span));
        }
        // What is too much is not copied for every rule inside.
        if n_around <= AROUND_MAX {
            for rule in rules {
                self.rule(rule);
            }
        }
        self.around = around;
        self.unit.bits = bits;
        self.unit.frame.locals.truncate(n_locals);
    }

    fn ruleset(&mut self, quantifiers: &[Quantifier], rules: &[Rule]) {
        let span = quantifiers.first().map_or(Span::default(), |q| q.span);
        let enter = |this: &mut Self| {
            for quantifier in quantifiers {
                let Some((local, domain, n_values)) = this.declare_parameter(quantifier) else {
                    continue;
                };
                this.around.params.push(Param { local, domain });
                this.around.names.push(quantifier.name.clone());
                this.multiply(n_values, quantifier.span);
            }
        };
        self.inside(enter, rules, span);
        for quantifier in quantifiers {
            let consequence = "every rule inside fires once for each of its values";
            self.warn_unused(&quantifier.name, "ruleset parameter", Some(consequence));
        }
        self.scopes.pop();
    }

    fn multiply(&mut self, n_values: u64, span: Span) {
        let Some(before) = self.around.n_instances else {
            return;
        };
        let after = before.checked_mul(n_values);
        self.around.n_instances = after;
        if after.is_none() {
            self.report(
                Diagnostic::error("the rules in here have too many instances", span)
                    .note("they cannot be counted with 64 bits"),
            );
        }
    }

    fn alias_rules(&mut self, aliases: &[Alias], rules: &[Rule]) {
        let span = aliases.first().map_or(Span::default(), |alias| alias.span);
        let has_choose = has_choose(rules);
        let enter = |this: &mut Self| {
            let mut prologue = std::mem::take(&mut this.around.prologue);
            for alias in aliases {
                this.unit.pure = Some("an alias around rules");
                // First without other aliases, for a `choose` that may follow.
                let expansion = has_choose.then(|| {
                    let muted = std::mem::replace(&mut this.muted, true);
                    this.expands_aliases = true;
                    let expansion = this.expr(&alias.value);
                    this.expands_aliases = false;
                    this.muted = muted;
                    expansion
                });
                this.alias(alias, &mut prologue);
                this.unit.pure = None;
                if let Some(expansion) = expansion {
                    this.scopes.set_expansion(&alias.name, expansion);
                }
            }
            this.around.prologue = prologue;
        };
        self.inside(enter, rules, span);
        self.scopes.pop();
    }

    fn choose(&mut self, name: &Name, multiset: &Designator, rules: &[Rule]) {
        let enter = |this: &mut Self| {
            this.unit.pure = Some("`choose`");
            this.expands_aliases = true;
            let lvalue = this.multiset(multiset);
            this.expands_aliases = false;
            this.unit.pure = None;
            let Some(lvalue) = lvalue else {
                this.declare(name, Def::Error);
                return;
            };
            if !matches!(lvalue.place.root, Root::Var(_)) {
                let message = "`choose` needs a multiset that is part of the state";
                this.report(Diagnostic::error(message, multiset.span));
                this.declare(name, Def::Error);
                return;
            }
            let (_, capacity) = this.slot_type(lvalue.ty);
            let (local, _) = this.declare_slot(name, &lvalue);
            let domain = ParamDomain::Slots {
                multiset: lvalue.place,
                capacity,
            };
            this.around.params.push(Param { local, domain });
            this.around.names.push(name.clone());
            this.multiply(u64::from(capacity), multiset.span);
        };
        self.inside(enter, rules, name.span);
        self.scopes.pop();
    }

    /// Lowers something with a frame of its own, which begins with what stands around.
    pub(super) fn with_frame<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> (T, Frame) {
        let inner = Unit {
            frame: self.unit.frame.clone(),
            bits: self.unit.bits,
            ..Unit::default()
        };
        let outer = std::mem::replace(&mut self.unit, inner);
        self.scopes.push();
        let result = lower(self);
        self.scopes.pop();
        let inner = std::mem::replace(&mut self.unit, outer);
        (result, inner.frame)
    }

    fn simple_rule(
        &mut self,
        span: Span,
        priority: Option<Priority>,
        name: Option<&Text>,
        (guard, decls, body): (Option<&Expr>, &[Decl], &[Stmt]),
    ) {
        self.counts.rules += 1;
        let name = given_name(name, "rule", self.counts.rules);
        let ((guard, body), frame) = self.with_frame(|this| {
            let (guard, is_never) = this.guard(guard);
            let body = this.in_dead_code(is_never, |this| this.body(decls, body));
            (guard, body)
        });
        let rule = IrRule {
            name,
            params: self.around.params.clone(),
            frame,
            priority: priority.map_or(0, |priority| priority.value),
            cost: 1,
            guard,
            body,
            site: self.site(span),
        };
        self.program.rules.push(rule);
    }

    /// The guard of a rule, and whether it is known never to hold.
    fn guard(&mut self, guard: Option<&Expr>) -> (Guard, bool) {
        let mut lowered = Guard::always();
        let mut is_never = false;
        if let Some(guard) = guard {
            self.unit.pure = Some("the guard");
            let holds = self.truth(guard, "a guard");
            self.unit.pure = None;
            match holds.constant() {
                Some(0) => {
                    is_never = true;
                    let message = "this rule never fires: its guard is always false";
                    self.report(Diagnostic::warning(message, guard.span));
                    lowered.condition = self.strict(holds, guard.span);
                }
                Some(_) => {}
                None => lowered.condition = self.strict(holds, guard.span),
            }
        }
        // Nothing needs to be bound for a guard that is always true, except that binding may
        // fault, and does so for the body as well.
        if lowered.condition.is_some() {
            lowered.prologue = self.around.prologue.clone();
        }
        (lowered, is_never)
    }

    /// The body of a rule or startstate, with what must be bound before it.
    fn body(&mut self, decls: &[Decl], stmts: &[Stmt]) -> Block {
        let mut block = self.around.prologue.clone();
        let names = std::mem::take(&mut self.around.names);
        for name in &names {
            if self.writes_loop_variable(name, stmts) {
                self.writable_copy(name, &mut block);
            }
        }
        self.around.names = names;
        // A declaration of the rule itself may hide even such a copy.
        self.scopes.push();
        self.locals(decls);
        block.extend(self.block(stmts));
        self.scopes.pop();
        block
    }

    fn startstate(&mut self, span: Span, name: Option<&Text>, decls: &[Decl], body: &[Stmt]) {
        self.counts.starts += 1;
        let name = given_name(name, "startstate", self.counts.starts);
        let (body, frame) = self.with_frame(|this| this.body(decls, body));
        let start = Start {
            name,
            params: self.around.params.clone(),
            frame,
            body,
            site: self.site(span),
        };
        self.program.starts.push(start);
    }

    fn property(
        &mut self,
        span: Span,
        kind: PropertyKind,
        message: Option<&Text>,
        condition: &Expr,
    ) {
        let (ir, word, what) = match kind {
            PropertyKind::Invariant => (IrProperty::Invariant, "invariant", "an invariant"),
            PropertyKind::Assume => (IrProperty::Assume, "assume", "an assumption"),
            PropertyKind::Cover => (IrProperty::Cover, "cover", "a cover property"),
            PropertyKind::Liveness => (IrProperty::Liveness, "liveness", "a liveness property"),
        };
        let count = &mut self.counts.properties[kind as usize];
        *count += 1;
        let name = given_name(message, word, *count);
        let is_goal = matches!(kind, PropertyKind::Cover | PropertyKind::Liveness);
        if is_goal && self.around.n_instances.is_some_and(|n| n > GOALS_MAX) {
            let n = self.around.n_instances.unwrap_or(0);
            self.report(
                Diagnostic::error(format!("this is {n} properties"), span)
                    .label("one for each instance of the rulesets around it")
                    .note(format!("there can be {GOALS_MAX}")),
            );
        }
        let is_slot = |param: &Param| matches!(param.domain, ParamDomain::Slots { .. });
        if is_goal && self.around.params.iter().any(is_slot) {
            // Its place in the multiset changes with what else is there, so following one element
            // through a run by its place would follow several.
            self.report(
                Diagnostic::error(format!("{what} cannot stand in `choose`"), span)
                    .note("elements of a multiset have no identity from one state to the next")
                    .help("use `multisetcount` to refer to the multiset as a whole"),
            );
        }
        let (condition, frame) = self.with_frame(|this| {
            this.unit.pure = Some(what);
            let holds = this.condition(condition, what);
            Guard {
                prologue: this.around.prologue.clone(),
                condition: holds,
            }
        });
        let property = Property {
            kind: ir,
            name,
            params: self.around.params.clone(),
            frame,
            condition,
            site: self.site(span),
        };
        self.program.properties.push(property);
    }
}

/// Whether there is a `choose` among the rules.
fn has_choose(rules: &[Rule]) -> bool {
    rules.iter().any(|rule| match &rule.kind {
        RuleKind::Choose { .. } => true,
        RuleKind::Ruleset { rules, .. } | RuleKind::Alias { rules, .. } => has_choose(rules),
        _ => false,
    })
}

/// The name given in the text, or one made of a word and a number.
fn given_name(name: Option<&Text>, word: &str, number: usize) -> String {
    match name {
        Some(text) if !text.value.is_empty() => text.value.to_string(),
        _ => format!("{word} {number}"),
    }
}
