//! Caches as they are written on the command line: `(c2,llnr,5)(o2,lfu,10)`.

use std::fmt;

/// Which snapshots are taken, and how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotSetup {
    /// A cache of recent layers, and one that samples less and less often.
    FrontierSafetyNet,
    /// A row of caches, each of which takes every other snapshot that the one before gives up; a
    /// new one is added when the last is full.
    Pebble,
    /// These caches in a row.
    Caches(Vec<CacheSpec>),
}

impl SnapshotSetup {
    /// Reads a name or a row of caches.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        match text.trim() {
            "frontier-safety-net" => Ok(SnapshotSetup::FrontierSafetyNet),
            "pebble" => Ok(SnapshotSetup::Pebble),
            text => CacheSpec::parse_all(text).map(SnapshotSetup::Caches),
        }
    }
}

impl fmt::Display for SnapshotSetup {
    /// As it is typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotSetup::FrontierSafetyNet => f.write_str("frontier-safety-net"),
            SnapshotSetup::Pebble => f.write_str("pebble"),
            SnapshotSetup::Caches(caches) => caches.iter().try_for_each(|cache| cache.fmt(f)),
        }
    }
}

/// A cache of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// Which of the snapshots that it is offered it takes.
    pub sampling: Sampling,
    /// Which one it gives up when it is full.
    pub policy: Policy,
    /// Snapshots that it holds.
    pub size: u32,
}

impl fmt::Display for CacheSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy.name();
        write!(f, "({},{policy},{})", self.sampling, self.size)
    }
}

/// Which snapshots a cache takes of those that it is offered. The first one always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// One in this many; all of them if this is one or less. Written `c2`.
    Constant(u32),
    /// At distances that grow by `step`. Written `o2` where both are 2, else `o3+2`.
    Growing {
        /// The first distance.
        first: u32,
        /// What is added after each.
        step: u32,
    },
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::Constant(n) => write!(f, "c{n}"),
            Sampling::Growing { first, step } if first == step => write!(f, "o{first}"),
            Sampling::Growing { first, step } => write!(f, "o{first}+{step}"),
        }
    }
}

/// Which element a full cache gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one of the lowest level.
    Llnr,
    /// The least recently used.
    Lru,
    /// The most recently used.
    Mru,
    /// The least frequently used.
    Lfu,
    /// The most frequently used.
    Mfu,
    /// Any.
    Rnd,
}

impl Policy {
    const ALL: [Policy; 6] = [
        Policy::Llnr,
        Policy::Lru,
        Policy::Mru,
        Policy::Lfu,
        Policy::Mfu,
        Policy::Rnd,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Llnr => "llnr",
            Policy::Lru => "lru",
            Policy::Mru => "mru",
            Policy::Lfu => "lfu",
            Policy::Mfu => "mfu",
            Policy::Rnd => "rnd",
        }
    }
}

/// A cache of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateCacheSpec {
    /// Which state it gives up when it is full.
    pub policy: Policy,
    /// Its share of all caches' states, in percent.
    pub percent: u32,
}

impl fmt::Display for StateCacheSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.policy.name(), self.percent)
    }
}

/// What is wrong with the description of caches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("in `{text}` at character {at}: {what}")]
pub struct SpecError {
    /// The description.
    pub text: String,
    /// Where in it, counted from one.
    pub at: usize,
    /// What is wrong there, and what would be right.
    pub what: String,
}

impl CacheSpec {
    /// Reads a row of caches.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, SpecError> {
        let mut reader = Reader { text, at: 0 };
        let mut caches = Vec::new();
        while caches.is_empty() || !reader.is_at_end() {
            reader.expect('(')?;
            let sampling = reader.sampling()?;
            reader.expect(',')?;
            let policy = reader.policy(&Policy::ALL)?;
            reader.expect(',')?;
            let size = reader.number("a number of snapshots", 1)?;
            reader.expect(')')?;
            caches.push(CacheSpec {
                sampling,
                policy,
                size,
            });
        }
        Ok(caches)
    }
}

impl StateCacheSpec {
    /// The paper's best: a quarter by frequency of use, then three quarters by recency.
    pub fn usual() -> Vec<Self> {
        let cache = |policy, percent| StateCacheSpec { policy, percent };
        vec![cache(Policy::Mfu, 25), cache(Policy::Lru, 75)]
    }

    /// Reads a row of caches, each as `(lru,75)`. The shares add up to 100.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, SpecError> {
        // States have no level.
        let policies = &Policy::ALL[1..];
        let mut reader = Reader { text, at: 0 };
        let mut caches = Vec::new();
        let mut sum = 0u32;
        while caches.is_empty() || !reader.is_at_end() {
            reader.expect('(')?;
            let policy = reader.policy(policies)?;
            reader.expect(',')?;
            let percent = reader.number("a share in percent", 1)?;
            sum = sum.saturating_add(percent);
            reader.expect(')')?;
            caches.push(StateCacheSpec { policy, percent });
        }
        match sum {
            100 => Ok(caches),
            _ => Err(reader.error(format!("the shares add up to {sum}, not to 100"))),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    fn error(&self, what: String) -> SpecError {
        SpecError {
            text: self.text.to_owned(),
            at: self.text[..self.at].chars().count() + 1,
            what,
        }
    }

    /// What is there instead of what should be.
    fn found(&self) -> String {
        match self.rest().chars().next() {
            Some(found) => format!("found `{found}`"),
            None => "found the end".to_owned(),
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), SpecError> {
        self.skip_blanks();
        match self.rest().starts_with(wanted) {
            true => self.at += wanted.len_utf8(),
            false => return Err(self.error(format!("expected `{wanted}`, {}", self.found()))),
        }
        Ok(())
    }

    fn number(&mut self, wanted: &str, least: u32) -> Result<u32, SpecError> {
        self.skip_blanks();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.error(format!("expected {wanted}, {}", self.found())));
        }
        match self.rest()[..digits].parse() {
            Ok(number) if number >= least => {
                self.at += digits;
                Ok(number)
            }
            Ok(_) => Err(self.error(format!("expected {wanted} of at least {least}"))),
            Err(_) => Err(self.error(format!("the number is greater than {}", u32::MAX))),
        }
    }

    fn sampling(&mut self) -> Result<Sampling, SpecError> {
        self.skip_blanks();
        let wanted = "a distance";
        let letter = self.rest().chars().next();
        if let Some(letter @ ('c' | 'o')) = letter {
            self.at += 1;
            let first = self.number(wanted, u32::from(letter == 'o'))?;
            if letter == 'c' {
                return Ok(Sampling::Constant(first));
            }
            let step = match self.rest().starts_with('+') {
                true => {
                    self.at += 1;
                    self.number("what is added to the distance", 1)?
                }
                false => first,
            };
            return Ok(Sampling::Growing { first, step });
        }
        let what = "expected `c` and a constant distance of samples, or `o` and one that grows";
        Err(self.error(format!("{what}, {}", self.found())))
    }

    fn policy(&mut self, allowed: &[Policy]) -> Result<Policy, SpecError> {
        self.skip_blanks();
        let letters = self
            .rest()
            .bytes()
            .take_while(u8::is_ascii_alphabetic)
            .count();
        let name = &self.rest()[..letters];
        let found = allowed.iter().find(|policy| policy.name() == name);
        let Some(&policy) = found else {
            let names: Vec<&str> = allowed.iter().map(|policy| policy.name()).collect();
            let names = names.join(", ");
            return Err(self.error(format!("expected one of {names}; {}", self.found())));
        };
        self.at += letters;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheSpec, Policy, Sampling, SnapshotSetup, StateCacheSpec};

    #[test]
    fn rows_of_caches_are_read() {
        let cache = |sampling, policy, size| CacheSpec {
            sampling,
            policy,
            size,
        };
        let growing = |first, step| Sampling::Growing { first, step };
        let expected = vec![
            cache(Sampling::Constant(2), Policy::Llnr, 5),
            cache(growing(2, 2), Policy::Lfu, 10),
            cache(growing(3, 2), Policy::Rnd, 1),
        ];
        let text = "(c2,llnr,5)(o2,lfu,10) ( o3+2 , rnd , 1 )";
        assert_eq!(CacheSpec::parse_all(text), Ok(expected.clone()));
        assert_eq!(
            SnapshotSetup::parse(text),
            Ok(SnapshotSetup::Caches(expected))
        );
        assert_eq!(SnapshotSetup::parse("pebble"), Ok(SnapshotSetup::Pebble));
        let usual = StateCacheSpec::parse_all("(mfu,25)(lru,75)");
        assert_eq!(usual, Ok(StateCacheSpec::usual()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, at, what) in [
            ("", 1, "expected `(`, found the end"),
            ("pebbles", 1, "expected `(`, found `p`"),
            (
                "(x2,lru,5)",
                2,
                "expected `c` and a constant distance of samples, or `o` and one that grows, found `x`",
            ),
            ("(c,lru,5)", 3, "expected a distance, found `,`"),
            ("(o0,lru,5)", 3, "expected a distance of at least 1"),
            ("(c2,lru)", 8, "expected `,`, found `)`"),
            (
                "(c2,lrx,5)",
                5,
                "expected one of llnr, lru, mru, lfu, mfu, rnd; found `l`",
            ),
            (
                "(c2,lru,0)",
                9,
                "expected a number of snapshots of at least 1",
            ),
            (
                "(c2,lru,99999999999)",
                9,
                "the number is greater than 4294967295",
            ),
            ("(c2,lru,5)é", 11, "expected `(`, found `é`"),
        ] {
            let error = SnapshotSetup::parse(text).expect_err(text);
            assert_eq!((error.at, error.what.as_str()), (at, what), "{text}");
        }
        let error = StateCacheSpec::parse_all("(mfu,25)(lru,70)").expect_err("95");
        assert_eq!(error.what, "the shares add up to 95, not to 100");
        let error = StateCacheSpec::parse_all("(llnr,100)").expect_err("no level");
        assert!(error.what.starts_with("expected one of lru"));
    }
}
