//! Nested lists of words and strings, each with its position.

use super::TextError;

/// The most lists inside one another; the parser above recurses along them.
const MAX_DEPTH: usize = 1000;

/// A word, a string or a list.
#[derive(Clone, Debug)]
pub(super) struct Sexpr {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Word(String),
    Text(String),
    List(Vec<Sexpr>),
}

impl Sexpr {
    /// An error at this position.
    pub(super) fn error(&self, message: impl Into<String>) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }
}

/// Reads a text that holds one list.
pub(super) fn read(text: &str) -> Result<Sexpr, TextError> {
    let mut reader = Reader {
        chars: text.chars(),
        line: 1,
        column: 1,
    };
    // The lists that are open, outermost first; a stack of our own, so that depth costs no calls.
    let mut open: Vec<Sexpr> = Vec::new();
    let mut whole: Option<Sexpr> = None;
    loop {
        reader.skip_blanks();
        let (line, column) = (reader.line, reader.column);
        let error = |message: &str| TextError {
            line,
            column,
            message: message.to_owned(),
        };
        if whole.is_some() && reader.peek().is_some() {
            return Err(error("there is more text after the program"));
        }
        let make = |kind| Sexpr { kind, line, column };
        let done = match reader.peek() {
            None => {
                return match (open.pop(), whole) {
                    (Some(list), _) => Err(list.error("this list is not closed")),
                    (None, Some(whole)) => Ok(whole),
                    (None, None) => Err(error("there is no program")),
                };
            }
            Some('(') => {
                reader.next();
                if open.len() == MAX_DEPTH {
                    return Err(error("lists are nested too deeply"));
                }
                open.push(make(Kind::List(Vec::new())));
                continue;
            }
            Some(')') => {
                reader.next();
                open.pop().ok_or_else(|| error("nothing to close here"))?
            }
            Some('"') => make(Kind::Text(reader.text()?)),
            Some(_) => make(Kind::Word(reader.word())),
        };
        match open.last_mut() {
            Some(Sexpr {
                kind: Kind::List(items),
                ..
            }) => items.push(done),
            _ => whole = Some(done),
        }
    }
}

struct Reader<'a> {
    chars: std::str::Chars<'a>,
    line: u32,
    column: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(c)
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek() {
            if c == ';' {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if !c.is_whitespace() {
                return;
            } else {
                self.next();
            }
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';') {
                break;
            }
            word.push(c);
            self.next();
        }
        word
    }

    /// A string, from its opening quote on.
    fn text(&mut self) -> Result<String, TextError> {
        let (line, column) = (self.line, self.column);
        let error = |message: &str| TextError {
            line,
            column,
            message: message.to_owned(),
        };
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(error("this string is not closed")),
                Some('"') => return Ok(text),
                Some('\\') => match self.next() {
                    Some(c @ ('"' | '\\')) => text.push(c),
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('u') => {
                        let c = self.code_point();
                        text.push(c.ok_or_else(|| error("a \\u{...} names no character"))?);
                    }
                    _ => return Err(error("an unknown escape in this string")),
                },
                Some(c) => text.push(c),
            }
        }
    }

    /// The `{hex}` of an escape.
    fn code_point(&mut self) -> Option<char> {
        if self.next()? != '{' {
            return None;
        }
        let mut code = 0u32;
        loop {
            match self.next()? {
                '}' => return char::from_u32(code),
                c => code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?,
            }
        }
    }
}
