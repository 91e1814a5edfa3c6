//! Remarks about the model, and what to do after a search that stopped early.

use std::fmt::Write;
use std::path::Path;

use hadal::Style;
use hadal::trace::quote;
use hadal_model::{Remark, Rule};
use hadal_report::units::{bytes, count, counted};
use hadal_search::{Deadlock, Reason, Verdict};
use hadal_store::disk::Refusal;

use super::Summary;
use crate::failure::remedy;
use crate::strategy;

impl Summary<'_> {
    pub(super) fn remarks(&self, out: &mut String, style: Style) {
        let outcome = self.outcome();
        let shape = self.shape();
        // What labels and claims ask for beyond that is decided by no state.
        let all_visited = outcome.complete
            || outcome.verdict == Verdict::Incomplete && outcome.reason == Some(Reason::Unchecked);
        if all_visited {
            self.never_fired(out, style);
        }
        if outcome.verdict == Verdict::Verified
            && shape.properties.is_empty()
            && self.checked.search_options().deadlock == Deadlock::Off
        {
            let text = match self.loaded.graph() {
                Some(_) => "nothing was checked: all states were visited",
                None => "the model has no property: only run-time errors were checked",
            };
            let _ = writeln!(out, "\n  {}", style.doubtful(text));
        }
        for remark in &outcome.remarks {
            if let Remark::ExpensiveCanonicalForm { candidates } = remark {
                let _ = writeln!(
                    out,
                    "\n  {} some states are so symmetric that up to {} arrangements were tried for \
                     each; --symmetry off may be faster",
                    style.doubtful("note"),
                    count(*candidates)
                );
            }
        }
        if let Some(which) = super::interpreted(self.loaded) {
            let _ = writeln!(
                out,
                "\n  {} too large for native code, so interpreted: {which}",
                style.doubtful("note"),
            );
        }
        if !self.loaded.not_asked.is_empty() {
            let _ = writeln!(
                out,
                "\n  {} one claim is checked in a run; --claim NAME chooses among others: {}",
                style.doubtful("note"),
                self.loaded.not_asked.join(", "),
            );
        }
        self.hints(out);
    }

    /// What no run executes: usually a mistake in the model.
    fn never_fired(&self, out: &mut String, style: Style) {
        let fired_by_rule = &self.outcome().fired_by_rule;
        if let Some(statements) = self.loaded.never_executed(fired_by_rule) {
            if !statements.is_empty() {
                let head = style.doubtful("never executed");
                let _ = writeln!(out, "\n  {head}  statements that no run executes:");
            }
            for statement in statements {
                let _ = writeln!(
                    out,
                    "    {}  {}",
                    statement.name,
                    style.faint(&statement.at)
                );
            }
            return;
        }
        let rules = self.shape().rules.iter().zip(fired_by_rule);
        let never: Vec<_> = rules.filter(|(_, fired)| **fired == 0).collect();
        if self.loaded.graph().is_some() {
            self.never_taken(out, &never, style);
        } else if !never.is_empty() {
            let head = style.doubtful("never fired");
            let _ = writeln!(out, "\n  {head}  rules that no reachable state enables:");
            for (rule, _) in never {
                let _ = writeln!(out, "    {}  {}", quote(&rule.name), style.faint(&rule.at));
            }
        }
    }

    /// Labels of a graph without an edge that a run can take.
    fn never_taken(&self, out: &mut String, never: &[(&Rule, &u64)], style: Style) {
        /// Labels that are listed; a graph may have millions.
        const SHOWN: usize = 20;
        if never.is_empty() {
            return;
        }
        let head = style.doubtful("never taken");
        let _ = writeln!(
            out,
            "\n  {head}  labels that no reachable state has an edge with:"
        );
        for (rule, _) in never.iter().take(SHOWN) {
            let _ = writeln!(out, "    {}", quote(&rule.name));
        }
        if never.len() > SHOWN {
            let _ = writeln!(out, "    and {} more", count((never.len() - SHOWN) as u64));
        }
    }

    /// What to do about a search that was stopped.
    fn hints(&self, out: &mut String) {
        let reason = self.outcome().reason;
        if let (false, Some(reason)) = (self.is_auto(), reason) {
            let hint = match (reason, self.checked.no_scratch()) {
                (Reason::Memory, Some(why)) if self.strategy.uses_disk() => {
                    Some(format!("{why}; {}", remedy(why)))
                }
                _ => strategy::hint(self.strategy, reason),
            };
            if let Some(hint) = hint {
                let _ = writeln!(out, "\n  hint: {hint}");
            }
            return;
        }
        let is_large = |remark: &Remark| matches!(remark, Remark::LargeStep { .. });
        let is_for_step = self.outcome().remarks.iter().any(is_large);
        let is_beyond = |remark: &Remark| matches!(remark, Remark::LargeStep { bytes: 0, .. });
        let is_beyond_limit = self.outcome().remarks.iter().any(is_beyond);
        if reason == Some(Reason::Memory) {
            let hint = match self.checked.no_scratch() {
                Some(why) if !is_for_step => format!("{why}; {}", remedy(why)),
                _ if is_beyond_limit => "end the atomic sequence earlier".to_owned(),
                _ if is_for_step => {
                    "give it more with --memory, use fewer --threads, or end the atomic sequence \
                     earlier"
                        .to_owned()
                }
                _ => "give it more with --memory, or shrink the model with --const".to_owned(),
            };
            let _ = writeln!(out, "\n  hint: {hint}");
        }
        self.shortage(out);
        if reason == Some(Reason::Disk) && self.checked.resumable().is_none() {
            let hint = match self.file_limit() {
                Some(_) => "allow larger files with ulimit -f",
                None => "name a folder with more room with --disk; a run there can be resumed",
            };
            let _ = writeln!(out, "\n  hint: {hint}");
        }
        // A bound is part of the question, so a resumed run would stop where this one did.
        if let (Some(path), Some(reason)) = (self.checked.resumable(), reason)
            && reason != Reason::Bound
        {
            let is_full = reason == Reason::Disk || self.outcome().disk.refused_bytes > 0;
            let room = match reason {
                _ if is_full && self.args.disk_limit.is_some() => ", with a larger --disk-limit",
                _ if is_full => ", once there is more room",
                Reason::Memory => ", with more --memory",
                _ => "",
            };
            let folder = shell_word(path);
            let _ = writeln!(
                out,
                "\n  resume{room}: hadal resume {folder}{}",
                self.saved()
            );
        }
    }

    /// Where a later run resumes, if not where this one ended.
    fn saved(&self) -> String {
        match self.outcome().disk.saved_states {
            saved if saved >= self.outcome().states => String::new(),
            0 => "  (from the beginning)".to_owned(),
            saved => format!("  (from {})", counted(saved, "state")),
        }
    }

    /// What a search that filled its disk would have needed.
    fn shortage(&self, out: &mut String) {
        let Some(shortage) = self.shortage else {
            return;
        };
        let whole = match shortage.run_bytes {
            Some((least, most)) => format!(
                "perhaps {} to {} in all for the whole run",
                bytes(least as u64),
                bytes(most as u64)
            ),
            None => "how much for the whole run is unknown while layers grow".to_owned(),
        };
        // A scratch folder is deleted by now.
        let used = match self.outcome().disk.used_bytes {
            0 => self.outcome().disk.peak_bytes,
            used => used,
        };
        let what = match self.args.disk_limit {
            Some(limit) => format!("the limit of {} is reached", bytes(limit)),
            None => match (self.checked.disk_refusal(), self.file_limit()) {
                (
                    Some(Refusal::Reserve {
                        free_bytes,
                        reserve_bytes,
                    }),
                    _,
                ) => format!(
                    "disk is full ({} are free, and the last {} are kept for others)",
                    bytes(free_bytes),
                    bytes(reserve_bytes)
                ),
                (_, Some(limit)) => format!("a file may have at most {}", bytes(limit)),
                _ => "disk is full".to_owned(),
            },
        };
        let _ = writeln!(
            out,
            "\n  {what}: {} are used ({:.1} bytes a state); this layer needs at least {} more, {whole}",
            bytes(used),
            self.checked.disk_bytes_per_state(),
            bytes(shortage.layer_bytes),
        );
    }
}

/// A path as a shell reads it back.
pub(super) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn a_folder_s_name_can_be_pasted() {
        let shell_word = |path: &str| super::shell_word(Path::new(path));
        assert_eq!(shell_word("/var/tmp/run-1"), "/var/tmp/run-1");
        assert_eq!(shell_word("my run"), "'my run'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
