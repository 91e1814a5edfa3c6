//! One behaviour a test.
