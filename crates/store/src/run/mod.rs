//! Sorted runs of keys.
