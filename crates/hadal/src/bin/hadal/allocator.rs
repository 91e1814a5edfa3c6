//! Settings of the C library's allocator that keep the memory of the process close to its data.
//!
//! By default glibc adapts to large blocks that are freed and keeps them for later ones. Tables
//! that grow then leave holes, and the process holds up to a quarter more than its data. With a
//! fixed threshold large blocks return to the system at once. By default nearly every thread has an
//! arena, whose free memory other threads cannot use: with two arenas in all, a search with 40 MiB
//! takes 52 instead of 56. Threads seldom allocate. This is the crate's only unsafe code.

/// Blocks of at least this size return to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 128 << 10;

/// Arenas that threads share.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const N_ARENAS: libc::c_int = 2;

/// Lets large blocks return to the system when they are freed, and small ones be reused by any
/// thread. To be called before any other thread is started.
pub(crate) fn tune_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it sets a number before any other thread is started. If it is refused, nothing
        // changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, N_ARENAS) };
    }
}
