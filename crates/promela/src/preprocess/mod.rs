//! The preprocessor: files to one text of tokens.
//!
//! It does what `cpp` does for the models that exist: object- and function-like macros with `#`,
//! `##` and `...`, the names of [`predefined`], `#include`, conditionals, `#line`. It is not called as a program of its own, so that every
//! token knows the macro that it came from, and so that a model needs nothing but its files.
//!
//! The caller reads the files: [`Reader`] gets a path and returns bytes. A run that can be resumed
//! keeps what it returned.
//!
//! Expansion is bounded: a text of more than `MAX_EXPANDED` expanded tokens is an error, so that
//! macros that double each other cannot exhaust memory.

mod condition;
mod expand;
mod predefined;
mod scan;

use std::ops::Range;
use std::sync::Arc;

use hadal_syntax::{Diagnostic, Diagnostics, FileId, Outside, OutsideRole, Source, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use self::expand::Macro;
use self::scan::{Interner, Lexeme, scan};
use crate::text::{LineMarker, Origin, Text, Token};
use crate::token::{Symbol, TokenKind, Word};

/// Number of tokens that macros may produce in one model.
const MAX_EXPANDED: usize = 1_000_000;

/// Depth of files that include each other.
const MAX_INCLUDE_DEPTH: usize = 50;

/// Number of inclusions in one model.
const MAX_INCLUDES: usize = 2_000;

/// Returns the bytes of a file, or `None` if there is no such file.
pub type Reader<'a> = dyn FnMut(&str) -> Option<Vec<u8>> + 'a;

/// What the command line says about macros and included files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `NAME` or `NAME=VALUE`, as after `-D`.
    pub defines: Vec<String>,
    /// Folders that are searched for included files, as after `-I`.
    pub include_dirs: Vec<String>,
    /// Expressions from outside. They may use the macros of the model.
    pub outside: Outside<String>,
}

/// The result of preprocessing.
#[derive(Debug, Clone)]
pub struct Preprocessed {
    /// The files and the tokens.
    pub text: Text,
    /// The number of tokens of the model, its end included; those from outside follow.
    pub n_model_tokens: usize,
    /// The tokens of each expression from outside, without its end.
    pub outside: Outside<Range<usize>>,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
}

/// Preprocesses a model. It never fails: what cannot be processed is left out and reported.
pub fn preprocess(root: Source, options: &Options, read: &mut Reader<'_>) -> Preprocessed {
    let mut preprocessor = Preprocessor {
        text: Text {
            sources: Sources::new(root),
            tokens: Vec::new(),
            expansions: Vec::new(),
            markers: Vec::new(),
        },
        diagnostics: Diagnostics::new(),
        include_dirs: &options.include_dirs,
        read,
        interner: Interner::default(),
        macros: FxHashMap::default(),
        n_expanded: 0,
        overflowed: false,
        n_includes: 0,
        missing: FxHashSet::default(),
        pending: Vec::new(),
        counter: 0,
    };
    preprocessor.define_options(&options.defines);
    preprocessor.file(FileId::ROOT, 0);
    let end = preprocessor.text.sources.root().span().after();
    preprocessor.end(end);
    let n_model_tokens = preprocessor.text.tokens.len();
    let outside = options.outside.as_ref();
    let outside = outside.map(|role, text| preprocessor.outside(role, text));
    Preprocessed {
        text: preprocessor.text,
        n_model_tokens,
        outside,
        diagnostics: preprocessor.diagnostics,
    }
}

struct Preprocessor<'a, 'r> {
    text: Text,
    diagnostics: Diagnostics,
    include_dirs: &'a [String],
    read: &'a mut Reader<'r>,
    interner: Interner,
    macros: FxHashMap<Arc<str>, Arc<Macro>>,
    /// Number of tokens that macros have produced.
    n_expanded: usize,
    /// The limit was reached and reported.
    overflowed: bool,
    n_includes: usize,
    /// Files that were reported missing.
    missing: FxHashSet<String>,
    /// Tokens since the last directive. They are expanded together, so that the arguments of a
    /// macro may stand on several lines.
    pending: Vec<Token>,
    /// The next value of `__COUNTER__`.
    counter: u32,
}

/// An `#if` that is not closed yet.
struct Conditional {
    span: Span,
    /// Whether the current branch is read.
    active: bool,
    /// Whether some branch was read, or none may be.
    done: bool,
    seen_else: bool,
}

impl Preprocessor<'_, '_> {
    /// Processes `NAME=VALUE` definitions, as a file of directives.
    fn define_options(&mut self, defines: &[String]) {
        if defines.is_empty() {
            return;
        }
        let line = |define: &String| {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            let value = value.replace(['\n', '\r'], " ");
            format!("#define {name} {value}\n")
        };
        let text: String = defines.iter().map(line).collect();
        let added = Source::new("<command line>", text);
        if let Ok(id) = added.and_then(|source| self.text.sources.add(source)) {
            self.file(id, 0);
        }
    }

    /// Ends the model or an expression from outside.
    fn end(&mut self, span: Span) {
        self.text.tokens.push(Token {
            kind: TokenKind::Eof,
            text: "".into(),
            span,
            origin: Origin::FILE,
            starts_line: true,
            spaced: true,
        });
    }

    /// Processes an expression from outside, as a file behind the model.
    fn outside(&mut self, role: OutsideRole, text: &str) -> Range<usize> {
        let first = self.text.tokens.len();
        let added = Source::new(role.file_name(), text);
        let end = match added.and_then(|source| self.text.sources.add(source)) {
            Ok(id) => {
                self.file(id, 0);
                self.text.sources.file(id).span().after()
            }
            Err(error) => {
                self.error(error.to_string(), Span::default());
                Span::default()
            }
        };
        let tokens = first..self.text.tokens.len();
        self.end(end);
        tokens
    }

    fn file(&mut self, id: FileId, depth: usize) {
        let scanned = scan(self.text.sources.file(id), &mut self.interner);
        if let Some(span) = scanned.open_comment {
            self.diagnostics.push(
                Diagnostic::error("this comment is not closed", span)
                    .help("close it with `*/`; comments do not nest"),
            );
        }
        let lexemes = scanned.lexemes;
        let mut conditionals: Vec<Conditional> = Vec::new();
        let mut at = 0;
        while at < lexemes.len() {
            let token = &lexemes[at].token;
            let is_directive = token.starts_line && token.kind == TokenKind::Symbol(Symbol::Hash);
            if !is_directive {
                if conditionals.last().is_none_or(|it| it.active) {
                    self.push(&lexemes[at]);
                }
                at += 1;
                continue;
            }
            let rest = &lexemes[at + 1..];
            let len = rest.iter().position(|it| it.token.starts_line);
            let len = len.unwrap_or(rest.len());
            self.flush();
            self.directive(token, &rest[..len], &mut conditionals, id, depth);
            at += 1 + len;
        }
        self.flush();
        for conditional in conditionals {
            self.diagnostics.push(
                Diagnostic::error("this conditional is not closed", conditional.span)
                    .help("close it with `#endif`"),
            );
        }
    }

    fn push(&mut self, lexeme: &Lexeme) {
        if let Some(message) = lexeme.error {
            let error = Diagnostic::error(message, lexeme.token.span);
            self.diagnostics.push(error);
        }
        self.pending.push(lexeme.token.clone());
    }

    /// Expands the pending tokens and appends them to the text.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        for mut token in self.expand_all(pending) {
            if token.kind == TokenKind::Ident
                && let Some(word) = Word::from_text(&token.text)
            {
                token.kind = TokenKind::Word(word);
            }
            self.text.tokens.push(token);
        }
    }

    fn directive(
        &mut self,
        hash: &Token,
        line: &[Lexeme],
        conditionals: &mut Vec<Conditional>,
        file: FileId,
        depth: usize,
    ) {
        let Some((first, rest)) = line.split_first() else {
            return;
        };
        let name = &first.token;
        let span = hash.span.to(name.span);
        let active = conditionals.last().is_none_or(|it| it.active);
        match &*name.text {
            "if" | "ifdef" | "ifndef" => {
                let holds = active && self.condition(&name.text, span, rest);
                conditionals.push(Conditional {
                    span,
                    active: holds,
                    done: holds || !active,
                    seen_else: false,
                });
                return;
            }
            "elif" | "else" | "endif" => {
                self.branch(&name.text, span, rest, conditionals);
                return;
            }
            _ if !active => return,
            _ => {}
        }
        for lexeme in rest {
            if let Some(message) = lexeme.error
                && !matches!(&*name.text, "error" | "warning" | "pragma")
            {
                let error = Diagnostic::error(message, lexeme.token.span);
                self.diagnostics.push(error);
            }
        }
        let tokens: Vec<Token> = rest.iter().map(|it| it.token.clone()).collect();
        match &*name.text {
            "define" => self.define(span, &tokens),
            "undef" => match tokens.first() {
                Some(token) if token.kind == TokenKind::Ident => {
                    self.macros.remove(&token.text);
                }
                _ => self.error("`#undef` needs the name of a macro", span),
            },
            "include" => self.include(span, &tokens, file, depth),
            "error" => {
                let text = self.text.sources.slice(line_span(rest, span)).to_owned();
                self.error(format!("#error {text}"), span);
            }
            "warning" => {
                let text = self.text.sources.slice(line_span(rest, span)).to_owned();
                let warning = Diagnostic::warning(format!("#warning {text}"), span);
                self.diagnostics.push(warning);
            }
            "line" => self.line_marker(&tokens, span, file),
            _ if name.kind == TokenKind::Number => {
                let mut all = vec![name.clone()];
                all.extend(tokens);
                self.line_marker(&all, span, file);
            }
            "pragma" | "ident" => {}
            other => {
                let known = [
                    "define", "undef", "include", "if", "ifdef", "ifndef", "elif",
                ]
                .into_iter()
                .chain(["else", "endif", "error", "warning", "line", "pragma"]);
                let guess = hadal_syntax::did_you_mean(other, known);
                let error = Diagnostic::error(format!("unknown directive `#{other}`"), span);
                self.diagnostics.push(match guess {
                    Some(guess) => error.help(format!("did you mean `#{guess}`?")),
                    None => error,
                });
            }
        }
    }

    fn error(&mut self, message: impl Into<String>, span: Span) {
        self.diagnostics.push(Diagnostic::error(message, span));
    }

    /// `#elif`, `#else` and `#endif`.
    fn branch(
        &mut self,
        name: &str,
        span: Span,
        rest: &[Lexeme],
        conditionals: &mut Vec<Conditional>,
    ) {
        let Some(mut current) = conditionals.pop() else {
            self.error(format!("`#{name}` without `#if`"), span);
            return;
        };
        if name == "endif" {
            return;
        }
        if current.seen_else {
            self.error(format!("`#{name}` after `#else`"), span);
        }
        let outer_active = conditionals.last().is_none_or(|it| it.active);
        current.active =
            !current.done && outer_active && { name == "else" || self.condition("if", span, rest) };
        current.done |= current.active;
        current.seen_else |= name == "else";
        conditionals.push(current);
    }

    /// Whether the condition of `#if`, `#ifdef` or `#ifndef` holds.
    fn condition(&mut self, directive: &str, span: Span, line: &[Lexeme]) -> bool {
        if directive == "if" {
            let tokens = line.iter().map(|it| it.token.clone()).collect();
            return self.integer_condition(span, tokens);
        }
        match line.first() {
            Some(name) if name.token.kind == TokenKind::Ident => {
                self.is_macro(&name.token.text) == (directive == "ifdef")
            }
            _ => {
                self.error(format!("`#{directive}` needs the name of a macro"), span);
                false
            }
        }
    }

    fn define(&mut self, span: Span, tokens: &[Token]) {
        let Some((name, rest)) = tokens.split_first() else {
            return self.error("`#define` needs a name", span);
        };
        if name.kind != TokenKind::Ident || &*name.text == "defined" {
            return self.error("`#define` needs a name", name.span);
        }
        let is_function = rest
            .first()
            .is_some_and(|it| it.kind == TokenKind::Symbol(Symbol::LParen) && !it.spaced);
        let (params, is_variadic, body) = match is_function {
            false => (None, false, rest),
            true => match macro_params(&rest[1..]) {
                Ok(it) => (Some(it.names), it.is_variadic, it.body),
                Err((message, at)) => return self.error(message, at.unwrap_or(name.span.after())),
            },
        };
        let has_rest = params.iter().flatten().any(|it| &**it == REST);
        if let Some(rest) = body.iter().find(|it| &*it.text == REST && !has_rest) {
            let message = format!("`{REST}` stands for the arguments of `...`, which is missing");
            let warning = Diagnostic::warning(message, rest.span);
            let warning = warning.context(name.span, "in this macro");
            self.diagnostics.push(warning);
        }
        let defined = Macro {
            params,
            is_variadic,
            body: body.to_vec(),
            definition: name.span,
        };
        if let Some(old) = self.macros.get(&name.text)
            && !old.is_same(&defined)
        {
            let warning =
                Diagnostic::warning(format!("the macro `{}` is redefined", name.text), name.span)
                    .context(old.definition, "it was defined here")
                    .help(format!(
                        "write `#undef {}` first if this is intended",
                        name.text
                    ));
            self.diagnostics.push(warning);
        }
        self.macros.insert(name.text.clone(), Arc::new(defined));
    }

    fn include(&mut self, span: Span, tokens: &[Token], file: FileId, depth: usize) {
        let expanded;
        let tokens = match tokens.first() {
            Some(token) if token.kind == TokenKind::Ident => {
                expanded = self.expand_all(tokens.to_vec());
                &expanded
            }
            _ => tokens,
        };
        let path = match tokens.first() {
            Some(token) if token.kind == TokenKind::Str => token.text.trim_matches('"').to_owned(),
            Some(first) if first.kind == TokenKind::Symbol(Symbol::Less) => {
                let last = tokens.last().map_or(first.span, |it| it.span);
                let inner = Span::new(first.span.end, last.start.max(first.span.end));
                self.text.sources.slice(inner).trim().to_owned()
            }
            _ => {
                let help = "write `#include \"file\"`";
                let error = Diagnostic::error("`#include` needs the name of a file", span);
                self.diagnostics.push(error.help(help));
                return;
            }
        };
        let span = tokens.iter().fold(span, |span, token| match token.origin {
            Origin::FILE => span.to(token.span),
            _ => span,
        });
        self.n_includes += 1;
        if depth >= MAX_INCLUDE_DEPTH {
            let message = format!("files include each other more than {MAX_INCLUDE_DEPTH} deep");
            return self.error(message, span);
        }
        if self.n_includes > MAX_INCLUDES {
            if self.n_includes == MAX_INCLUDES + 1 {
                self.error(format!("more than {MAX_INCLUDES} inclusions"), span);
            }
            return;
        }
        let candidates = self.candidates(&path, file);
        let Some(id) = candidates.iter().find_map(|path| self.open(path, span)) else {
            if self.missing.insert(path.clone()) {
                let looked = candidates.join(", ");
                let error = Diagnostic::error(format!("cannot find the file `{path}`"), span)
                    .note(format!("looked for: {looked}"))
                    .help("folders to search are given with `-I`");
                self.diagnostics.push(error);
            }
            return;
        };
        self.file(id, depth + 1);
    }

    /// The paths where an included file may be, in the order of the search.
    fn candidates(&self, path: &str, file: FileId) -> Vec<String> {
        if path.starts_with('/') {
            return vec![path.to_owned()];
        }
        let mut out = Vec::new();
        let name = self.text.sources.file(file).name();
        if let Some((folder, _)) = name.rsplit_once('/') {
            out.push(format!("{folder}/{path}"));
        }
        out.push(path.to_owned());
        for dir in self.include_dirs {
            out.push(format!("{}/{path}", dir.trim_end_matches('/')));
        }
        out
    }

    /// A file that was read before, or is read now.
    fn open(&mut self, path: &str, span: Span) -> Option<FileId> {
        if let Some(id) = self.text.sources.find(path) {
            return Some(id);
        }
        let bytes = (self.read)(path)?;
        let added = Source::from_bytes(path, bytes);
        match added.and_then(|source| self.text.sources.add(source)) {
            Ok(id) => Some(id),
            Err(error) => {
                self.error(error.to_string(), span);
                None
            }
        }
    }

    fn line_marker(&mut self, tokens: &[Token], span: Span, file: FileId) {
        let number = tokens.first().filter(|it| it.kind == TokenKind::Number);
        let Some(line) = number.and_then(|it| it.text.parse().ok()) else {
            return self.error("`#line` needs a line number", span);
        };
        let name = tokens.get(1).filter(|it| it.kind == TokenKind::Str);
        let source = self.text.sources.file(file);
        let next = source.line(source.position(span.start).line + 1);
        let marker = LineMarker {
            offset: next.start,
            line,
            file: name.map(|it| it.text.trim_matches('"').into()),
        };
        // Sorted at all times, since `__LINE__` asks for them.
        let markers = &mut self.text.markers;
        let at = markers.partition_point(|it| it.offset <= marker.offset);
        markers.insert(at, marker);
    }
}

/// The text of a directive's line.
fn line_span(line: &[Lexeme], directive: Span) -> Span {
    match (line.first(), line.last()) {
        (Some(first), Some(last)) => first.token.span.to(last.token.span),
        _ => directive.after(),
    }
}

/// The name of the arguments that `...` stands for.
const REST: &str = "__VA_ARGS__";

/// The parameters of a macro, and its body.
struct Params<'t> {
    names: Vec<Arc<str>>,
    is_variadic: bool,
    body: &'t [Token],
}

/// The parameters of a macro and its body, from the token after `(`; otherwise what is wrong, and
/// where. `...` and `name...` are the last parameter.
fn macro_params(tokens: &[Token]) -> Result<Params<'_>, (&'static str, Option<Span>)> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let symbol = |at: usize| match tokens.get(at)?.kind {
        TokenKind::Symbol(symbol) => Some(symbol),
        _ => None,
    };
    // There is no token for it in the language.
    let is_rest = |at: usize| {
        let is_joined = tokens.get(at + 1).is_some_and(|it| !it.spaced);
        symbol(at) == Some(Symbol::DotDot) && symbol(at + 1) == Some(Symbol::Dot) && is_joined
    };
    let mut at = 0;
    let mut is_variadic = false;
    if symbol(0) == Some(Symbol::RParen) {
        let body = &tokens[1..];
        return Ok(Params {
            names,
            is_variadic,
            body,
        });
    }
    loop {
        match tokens.get(at) {
            Some(token) if token.kind == TokenKind::Ident => {
                names.push(token.text.clone());
                at += 1;
            }
            Some(_) if is_rest(at) => names.push(REST.into()),
            other => {
                let message = "the parameters of a macro are names separated by commas";
                return Err((message, other.map(|it| it.span)));
            }
        }
        if is_rest(at) {
            is_variadic = true;
            at += 2;
        }
        match symbol(at) {
            Some(Symbol::RParen) => {
                let body = &tokens[at + 1..];
                return Ok(Params {
                    names,
                    is_variadic,
                    body,
                });
            }
            Some(Symbol::Comma) if !is_variadic => at += 1,
            _ => {
                let message = match is_variadic {
                    true => "`...` is the last parameter of a macro",
                    false => "the parameters of a macro are names separated by commas",
                };
                return Err((message, tokens.get(at).map(|it| it.span)));
            }
        }
    }
}
