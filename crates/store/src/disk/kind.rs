//! The registry of file kinds: every file in a folder is of one of these.
//!
//! A kind's value is its four letters, so two kinds with the same letters do not compile, and a file
//! of a kind that is not listed here cannot be created. To add one, add a line to the table and a
//! section to `docs/reference/format.md`; to change a layout, bump its version.

use std::fmt;

macro_rules! kinds {
    ($($(#[doc = $meaning:literal])+ $name:ident: $letters:literal, version $version:literal, section $section:literal;)+) => {
        /// What is in a block file.
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Kind {
            $($(#[doc = $meaning])+ $name = u32::from_le_bytes(*$letters),)+
        }

        impl Kind {
            /// All kinds, in the order of `docs/reference/format.md`.
            pub const ALL: &[Kind] = &[$(Kind::$name),+];

            /// Version of the layout of the blocks' payloads.
            pub const fn version(self) -> u32 {
                match self {
                    $(Kind::$name => $version,)+
                }
            }

            /// Heading of the section of `docs/reference/format.md` that specifies the layout.
            pub const fn section(self) -> &'static str {
                match self {
                    $(Kind::$name => $section,)+
                }
            }
        }
    };
}

kinds! {
    /// Parent and index of every state, by ordinal.
    Parents: b"prnt", version 1, section "Parent log";
    /// Ascending distinct keys.
    Run: b"runs", version 4, section "Runs";
    /// Ascending distinct keys, each with a value.
    Valued: b"vals", version 1, section "Runs with values";
    /// Records of states by ordinal, or of candidates in the order of generation.
    Log: b"logs", version 1, section "Logs of states";
    /// Pieces by rank.
    Queue: b"rank", version 1, section "Queues by rank";
    /// Keys of candidates by bucket, which never outlive their process.
    Spill: b"bkts", version 1, section "Spills";
    /// Edges by target.
    InEdges: b"back", version 1, section "Edges by target";
    /// Records of one length, which never outlive their process.
    Records: b"recs", version 1, section "Records of strategies";
}

impl Kind {
    /// The four letters that stand in the file's name and header.
    pub const fn letters(self) -> [u8; 4] {
        (self as u32).to_le_bytes()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.letters()
            .iter()
            .try_for_each(|&letter| write!(f, "{}", char::from(letter)))
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_specified() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/format.md"
        );
        let spec = std::fs::read_to_string(path).unwrap();
        for kind in Kind::ALL {
            let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
            assert!(kind.letters().into_iter().all(is_plain), "{kind}");
            let (version, section) = (kind.version(), kind.section());
            let row = format!("| `{kind}` | {version} | {section} |");
            assert!(spec.contains(&row), "no row {row}");
            assert!(
                spec.contains(&format!("\n## {section}\n")),
                "no section {section}"
            );
        }
    }
}
