//! What the C library's allocator is told, so that the memory of the process is that of its data.
//!
//! By itself glibc learns from large pieces that are given back to keep such pieces for the next
//! ones. Tables that grow between them then scatter over holes, and the process holds up to a
//! quarter more than its data. With a fixed bound large pieces go back to the system at once.
//! It also has an arena for nearly every thread, and what is freed in one is of no use to others:
//! with two for all, a search with 40 MiB takes 52 instead of 56. Threads seldom allocate.
//! This is the crate's only unsafe code.

/// Pieces of this size and more go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 128 << 10;

/// Arenas that threads share.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const N_ARENAS: libc::c_int = 2;

/// Has large pieces given back to the system as soon as they are freed, and small ones used again
/// by whatever thread.
pub(crate) fn use_memory_again() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it sets a number, before any other thread is there. If it is refused, nothing
        // changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, N_ARENAS) };
    }
}
