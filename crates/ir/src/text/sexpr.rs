//! Nested lists of words.
