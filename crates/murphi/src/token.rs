//! The tokens of Murphi.
//!
//! Only the words that both existing tools reserve are keywords here. A word that just one of
//! them reserves (`cover`, `choose`, `undefined`…) is an identifier to the lexer, for a model
//! written for the other tool may use it as a name; the parser decides by what
//! follows it. Every word that closes a construct is the one token [`TokenKind::End`], because
//! they are exchangeable.

use hadal_syntax::Span;

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

macro_rules! token_kinds {
    (
        classes { $($class:ident = $class_text:literal,)* }
        keywords { $($keyword:ident = $word:literal,)* }
        ends { $($end:literal,)* }
        symbols { $($symbol:ident = $symbol_text:literal,)* }
    ) => {
        /// What a token is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum TokenKind {
            $($class,)*
            $($keyword,)*
            $($symbol,)*
        }

        impl TokenKind {
            /// The keyword with this spelling, if it is one; case does not matter.
            pub(crate) fn keyword(word: &str) -> Option<TokenKind> {
                // The longest keyword is `endstartstate`.
                let mut buffer = [0u8; 13];
                let lower = buffer.get_mut(..word.len())?;
                lower.copy_from_slice(word.as_bytes());
                lower.make_ascii_lowercase();
                match std::str::from_utf8(lower).ok()? {
                    $($word => Some(TokenKind::$keyword),)*
                    $($end => Some(TokenKind::End),)*
                    _ => None,
                }
            }

            /// The name of this kind of token in messages.
            pub(crate) fn describe(self) -> &'static str {
                match self {
                    $(TokenKind::$class => $class_text,)*
                    $(TokenKind::$keyword => concat!("`", $word, "`"),)*
                    $(TokenKind::$symbol => concat!("`", $symbol_text, "`"),)*
                }
            }

            /// Whether this is a reserved word.
            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }
        }

        /// Every reserved word, to guess at a misspelled one.
        pub(crate) const KEYWORDS: &[&str] = &[$($word,)* $($end,)*];
    };
}

token_kinds! {
    classes {
        Ident = "a name",
        Int = "a number",
        Real = "a real number",
        Str = "a string",
        Bad = "an unknown character",
        Eof = "the end of the file",
    }
    keywords {
        Alias = "alias",
        Array = "array",
        Assert = "assert",
        Begin = "begin",
        Boolean = "boolean",
        By = "by",
        Case = "case",
        Clear = "clear",
        Const = "const",
        Do = "do",
        Else = "else",
        Elsif = "elsif",
        End = "end",
        Enum = "enum",
        Error = "error",
        Exists = "exists",
        False = "false",
        For = "for",
        Forall = "forall",
        Function = "function",
        If = "if",
        Invariant = "invariant",
        IsMember = "ismember",
        IsUndefined = "isundefined",
        Of = "of",
        Procedure = "procedure",
        Put = "put",
        Record = "record",
        Return = "return",
        Rule = "rule",
        Ruleset = "ruleset",
        Scalarset = "scalarset",
        Startstate = "startstate",
        Switch = "switch",
        Then = "then",
        To = "to",
        True = "true",
        Type = "type",
        Undefine = "undefine",
        Union = "union",
        Var = "var",
        While = "while",
    }
    ends {
        "endalias",
        "endexists",
        "endfor",
        "endforall",
        "endfunction",
        "endif",
        "endprocedure",
        "endrecord",
        "endrule",
        "endruleset",
        "endstartstate",
        "endswitch",
        "endwhile",
    }
    symbols {
        Plus = "+",
        Minus = "-",
        Star = "*",
        Slash = "/",
        Percent = "%",
        Bang = "!",
        Tilde = "~",
        Amp = "&",
        AmpAmp = "&&",
        Pipe = "|",
        PipePipe = "||",
        Caret = "^",
        Arrow = "->",
        LongArrow = "==>",
        Eq = "=",
        EqEq = "==",
        Ne = "!=",
        Lt = "<",
        Le = "<=",
        Gt = ">",
        Ge = ">=",
        Shl = "<<",
        Shr = ">>",
        Question = "?",
        Colon = ":",
        Assign = ":=",
        Dot = ".",
        DotDot = "..",
        Comma = ",",
        Semi = ";",
        LParen = "(",
        RParen = ")",
        LBracket = "[",
        RBracket = "]",
        LBrace = "{",
        RBrace = "}",
    }
}

/// The words that only one of the existing tools reserves and that mean something to our parser.
pub(crate) mod word {
    pub(crate) const ASSUME: &str = "assume";
    pub(crate) const CHOOSE: &str = "choose";
    pub(crate) const COVER: &str = "cover";
    pub(crate) const ENDCHOOSE: &str = "endchoose";
    pub(crate) const EXTERNFUN: &str = "externfun";
    pub(crate) const EXTERNPROC: &str = "externproc";
    pub(crate) const LIVENESS: &str = "liveness";
    pub(crate) const MULTISET: &str = "multiset";
    pub(crate) const MULTISETADD: &str = "multisetadd";
    pub(crate) const MULTISETCOUNT: &str = "multisetcount";
    pub(crate) const MULTISETREMOVE: &str = "multisetremove";
    pub(crate) const MULTISETREMOVEPRED: &str = "multisetremovepred";
    pub(crate) const PCTL: &str = "pctl";
    pub(crate) const REAL: &str = "real";
    pub(crate) const UNDEFINED: &str = "undefined";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_ignore_case_and_the_rest_are_names() {
        assert_eq!(TokenKind::keyword("RuleSet"), Some(TokenKind::Ruleset));
        assert_eq!(TokenKind::keyword("ENDSTARTSTATE"), Some(TokenKind::End));
        assert_eq!(TokenKind::keyword("endstartstates"), None);
        assert_eq!(TokenKind::keyword("cover"), None);
        assert_eq!(TokenKind::keyword("undefined"), None);
    }

    #[test]
    fn a_token_is_small() {
        assert_eq!(size_of::<Token>(), 12);
    }
}
