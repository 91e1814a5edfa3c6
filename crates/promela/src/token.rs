//! Kinds of tokens, and the reserved words.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name, or a word that is not reserved.
    Ident,
    /// A number, decimal, octal or hexadecimal.
    Number,
    /// A character in single quotes.
    Char,
    /// A string in double quotes.
    Str,
    /// A reserved word.
    Word(Word),
    /// A symbol.
    Symbol(Symbol),
    /// Something that was reported already.
    Bad,
    /// The end of the text.
    Eof,
}

macro_rules! words {
    ($($variant:ident $text:literal,)*) => {
        /// A reserved word.
        #[allow(missing_docs, reason = "the words are their own names")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Word { $($variant,)* }

        impl Word {
            /// All of them.
            pub const ALL: &'static [Word] = &[$(Word::$variant,)*];

            /// The spelling.
            pub fn text(self) -> &'static str {
                match self { $(Word::$variant => $text,)* }
            }

            /// The word with this spelling.
            pub fn from_text(text: &str) -> Option<Word> {
                match text {
                    $($text => Some(Word::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    Active "active", Assert "assert", Atomic "atomic", Bit "bit", Bool "bool", Break "break",
    Byte "byte", CCode "c_code", CDecl "c_decl", CExpr "c_expr", CState "c_state",
    CTrack "c_track", DProctype "D_proctype", Do "do", Chan "chan", Else "else", Empty "empty",
    Enabled "enabled", Eval "eval", False "false", Fi "fi", For "for", Full "full",
    GetPriority "get_priority", Goto "goto", Hidden "hidden", If "if", In "in", Init "init",
    Inline "inline", Int "int", Len "len", Local "local", Ltl "ltl", Mtype "mtype",
    Nempty "nempty", Never "never", Nfull "nfull", Notrace "notrace", Od "od", Of "of",
    PcValue "pc_value", Pid "pid", Printf "printf", Printm "printm", Priority "priority",
    Proctype "proctype", Provided "provided", Return "return", Run "run", DStep "d_step",
    Select "select", SetPriority "set_priority", Short "short", Skip "skip", Timeout "timeout",
    Trace "trace", True "true", Show "show", Typedef "typedef", Unless "unless",
    Unsigned "unsigned", Xr "xr", Xs "xs",
}

macro_rules! symbols {
    ($($variant:ident $text:literal,)*) => {
        /// A symbol.
        #[allow(missing_docs, reason = "the spellings are in the table")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Symbol { $($variant,)* }

        impl Symbol {
            /// The spelling.
            pub fn text(self) -> &'static str {
                match self { $(Symbol::$variant => $text,)* }
            }

            /// The longest symbol that a text begins with.
            pub fn prefix_of(text: &str) -> Option<Symbol> {
                $(if text.starts_with($text) { return Some(Symbol::$variant); })*
                None
            }
        }
    };
}

// A symbol stands before those that it begins with.
symbols! {
    Arrow "->", PlusPlus "++", MinusMinus "--", AndAnd "&&", OrOr "||", Eq "==", Ne "!=",
    Le "<=", Ge ">=", Shl "<<", Shr ">>", BangBang "!!", QueryQuery "??", ColonColon "::",
    DotDot "..", HashHash "##", LogicalAnd "/\\", LogicalOr "\\/",
    Plus "+", Minus "-", Star "*", Slash "/", Percent "%", And "&", Or "|", Caret "^",
    Tilde "~", Bang "!", Query "?", Less "<", Greater ">", Assign "=", LParen "(", RParen ")",
    LBracket "[", RBracket "]", LBrace "{", RBrace "}", Comma ",", Semi ";", Colon ":",
    Dot ".", At "@", Hash "#",
}

impl TokenKind {
    /// The kind, as a message names it.
    pub fn describe(self) -> String {
        match self {
            TokenKind::Ident => "a name".to_owned(),
            TokenKind::Number => "a number".to_owned(),
            TokenKind::Char => "a character".to_owned(),
            TokenKind::Str => "a string".to_owned(),
            TokenKind::Word(word) => format!("`{}`", word.text()),
            TokenKind::Symbol(symbol) => format!("`{}`", symbol.text()),
            TokenKind::Bad => "an invalid character".to_owned(),
            TokenKind::Eof => "the end of the file".to_owned(),
        }
    }
}
