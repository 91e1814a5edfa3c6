//! Goals on graphs: `state = 5`, `enabled(send(1))`, joined by `&`, `|`, `!` and parentheses.
//!
//! A label stands as it is, up to the parenthesis that closes `enabled`; or in double quotes, up to a
//! quote that such a parenthesis follows. Names of labels and numbers of states that the graph does
//! not have are errors: a goal that cannot be reached because of a slip would be no answer.

use hadal_lts::{Goal, Hlts, Relation};
use hadal_syntax::{Diagnostic, Diagnostics, Source, Span, did_you_mean};

/// Depth of parentheses and negations.
const MAX_NESTING: usize = 200;

/// Labels that are searched for one that was meant.
const MOST_SUGGESTED: usize = 10_000;

/// The goal of a text; `None` with a diagnostic.
pub(super) fn parse(source: &Source, graph: &Hlts, diagnostics: &mut Diagnostics) -> Option<Goal> {
    let mut parser = Parser {
        source,
        graph,
        at: 0,
        depth: 0,
    };
    let parsed = parser.any().and_then(|goal| match parser.rest() {
        "" => Ok(goal),
        _ => Err(parser.expected("the end of the goal")),
    });
    parsed.map_err(|error| diagnostics.push(*error)).ok()
}

struct Parser<'s> {
    source: &'s Source,
    graph: &'s Hlts,
    /// Position in the text.
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl<'s> Parser<'s> {
    /// The text that is left, without blanks in front.
    fn rest(&mut self) -> &'s str {
        let rest = &self.source.text()[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.rest().starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    fn eat_any(&mut self, symbols: &[&str]) -> bool {
        symbols.iter().any(|symbol| self.eat(symbol))
    }

    /// The span of `len` bytes from a position on.
    fn span(&self, at: usize, len: usize) -> Span {
        let start = self.source.base() + at as u32;
        Span::new(start, start + len as u32)
    }

    /// The word or character that is next.
    fn token(&mut self) -> &'s str {
        let rest = self.rest();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = match rest.chars().next() {
            Some(first) if is_word(first) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            Some(first) => first.len_utf8(),
            None => 0,
        };
        &rest[..len]
    }

    fn expected(&mut self, what: &str) -> Box<Diagnostic> {
        let token = self.token();
        let found = match token {
            "" => "the end of the goal".to_owned(),
            token => format!("`{token}`"),
        };
        let span = self.span(self.at, token.len());
        let error = Diagnostic::error(format!("expected {what}, found {found}"), span);
        Box::new(error.label(format!("expected {what}")))
    }

    fn any(&mut self) -> Parsed<Goal> {
        let mut parts = vec![self.all()?];
        while self.eat_any(&["||", "|"]) {
            parts.push(self.all()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Goal::Any(parts),
        })
    }

    fn all(&mut self) -> Parsed<Goal> {
        let mut parts = vec![self.one()?];
        while self.eat_any(&["&&", "&"]) {
            parts.push(self.one()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Goal::All(parts),
        })
    }

    fn one(&mut self) -> Parsed<Goal> {
        let _ = self.rest();
        let start = self.at;
        if self.eat("!") {
            let inner = self.nested(start, Self::one)?;
            return Ok(Goal::Not(Box::new(inner)));
        }
        if self.eat("(") {
            let inner = self.nested(start, Self::any)?;
            return match self.eat(")") {
                true => Ok(inner),
                false => Err(self.expected("`)`")),
            };
        }
        match self.token() {
            word @ "state" => {
                self.at += word.len();
                self.state()
            }
            word @ "enabled" => {
                self.at += word.len();
                self.enabled()
            }
            _ => Err(self.expected("`state`, `enabled`, `!` or `(`")),
        }
    }

    fn nested(
        &mut self,
        start: usize,
        part: impl FnOnce(&mut Self) -> Parsed<Goal>,
    ) -> Parsed<Goal> {
        if self.depth == MAX_NESTING {
            let span = self.span(start, 1);
            let error = Diagnostic::error("this is nested too deeply", span);
            let note = format!("at most {MAX_NESTING} levels are supported");
            return Err(Box::new(error.note(note)));
        }
        self.depth += 1;
        let parsed = part(self);
        self.depth -= 1;
        parsed
    }

    /// Behind `state`.
    fn state(&mut self) -> Parsed<Goal> {
        let relations = [
            ("==", Relation::Equal),
            ("=", Relation::Equal),
            ("!=", Relation::NotEqual),
            ("<=", Relation::AtMost),
            ("<", Relation::Less),
            (">=", Relation::AtLeast),
            (">", Relation::Greater),
        ];
        let found = relations.iter().find(|(symbol, _)| self.eat(symbol));
        let Some(&(_, relation)) = found else {
            return Err(self.expected("`=` or another comparison"));
        };
        let token = self.token();
        let is_number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Err(self.expected("the number of a state"));
        }
        let (at, n_states) = (self.at, self.graph.counts().n_states);
        self.at += token.len();
        match token.parse() {
            Ok(number) if number < n_states => Ok(Goal::State(relation, number)),
            _ => {
                let span = self.span(at, token.len());
                let error = Diagnostic::error(format!("there is no state {token}"), span);
                let note = format!("the graph has {n_states} states, numbered from 0");
                Err(Box::new(error.note(note)))
            }
        }
    }

    /// Behind `enabled`.
    fn enabled(&mut self) -> Parsed<Goal> {
        if !self.eat("(") {
            return Err(self.expected("`(` and a label"));
        }
        let rest = self.rest();
        let start = self.at;
        let is_quoted = rest.starts_with('"');
        let end = match is_quoted {
            true => end_of_quoted(rest),
            false => end_of_bare(rest),
        };
        let Some((label, len)) = end else {
            let span = self.span(start, rest.len());
            let error = Diagnostic::error("the label is not closed", span);
            return Err(Box::new(error.help("write `enabled(label)`")));
        };
        self.at += len;
        match self.graph.labels().find(label.as_bytes()) {
            Some(label) => Ok(Goal::Enabled(label)),
            None => Err(Box::new(
                self.unknown(label, start + usize::from(is_quoted)),
            )),
        }
    }

    fn unknown(&self, label: &str, at: usize) -> Diagnostic {
        let span = self.span(at, label.len());
        let error = Diagnostic::error(format!("no edge has the label `{label}`"), span);
        let labels = self.graph.labels();
        let texts = labels.iter().take(MOST_SUGGESTED);
        let texts: Vec<&str> = texts
            .filter_map(|it| std::str::from_utf8(it).ok())
            .collect();
        match did_you_mean(label, texts) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

/// A label in quotes at the beginning of a text, and where the text goes on behind the parenthesis.
fn end_of_quoted(text: &str) -> Option<(&str, usize)> {
    for (at, _) in text.match_indices('"').skip(1) {
        let behind = &text[at + 1..];
        let trimmed = behind.trim_start();
        if trimmed.starts_with(')') {
            let len = text.len() - trimmed.len() + 1;
            return Some((&text[1..at], len));
        }
    }
    None
}

/// A label without quotes, in which parentheses come in pairs.
fn end_of_bare(text: &str) -> Option<(&str, usize)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some((text[..at].trim_end(), at + 1)),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}
