//! What the C library's allocator is told, so that the memory of the process is that of its data.
//!
//! By itself glibc learns from large pieces that are given back to keep such pieces for the next
//! ones. Tables that grow between them then scatter over holes, and the process holds up to a
//! quarter more than its data. With a fixed bound large pieces go back to the system at once.
//! This is the crate's only unsafe code.

/// Pieces of this size and more go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 128 << 10;

/// Has large pieces given back to the system as soon as they are freed.
pub(crate) fn give_back_large_pieces() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it sets a number, before any other thread is there. If it is refused, nothing
        // changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
    }
}
