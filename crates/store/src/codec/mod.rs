//! How states become keys, and keys states.
