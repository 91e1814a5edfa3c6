//! Settings of the C library's allocator that keep the memory of the process close to its data.
//!
//! By default glibc adapts to large blocks that are freed and keeps them for later ones. Tables
//! that grow then leave holes, and the process holds up to a quarter more than its data. With a
//! fixed threshold large blocks return to the system at once. By default nearly every thread has an
//! arena, whose free memory other threads cannot use: with two arenas in all, a search with 40 MiB
//! takes 52 instead of 56. Threads seldom allocate. Where memory is short, blocks of a medium size
//! return to the system as well: those that many threads free at different times leave holes of 4 to
//! 9 MiB otherwise. That takes 2 % more time where there is memory. This is the crate's only unsafe
//! code.

/// Blocks of at least this size return to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 128 << 10;

/// The same in a process with less memory than [`SHORT_BYTES`].
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MEDIUM_BYTES: libc::c_int = 32 << 10;

/// A budget below which holes count.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SHORT_BYTES: u64 = 256 << 20;

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

/// Adapts the allocator to the budget of the process. To be called before threads are
/// started that may allocate.
pub(crate) fn adapt_allocator(budget: u64) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if budget < SHORT_BYTES {
        // SAFETY: it sets a number while no other thread allocates: the main thread waits for this
        // one. If it is refused, nothing changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MEDIUM_BYTES) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = budget;
}
