//! How a folder is used.

/// Limits, memory and threads of a folder.
#[derive(Clone, Copy, Debug)]
pub struct FolderOptions {
    /// Most bytes that all files may take together.
    pub limit_bytes: u64,
    /// Bytes of the device that are reserved for others, and for the manifest.
    pub reserve_bytes: u64,
    /// Memory for buffers: 16 MiB suffice for full speed, two blocks for any.
    pub buffer_bytes: usize,
    /// Whether reading, writing and deleting have threads of their own.
    pub threads: bool,
}

impl FolderOptions {
    /// For a search whose data, buffers included, may take `memory_bytes`.
    pub fn for_memory(memory_bytes: u64) -> Self {
        let usual = Self::default();
        // Buffers must not be most of it. With less than a quarter of a small budget, streams find
        // no memory to read ahead.
        let share = usize::try_from(memory_bytes / 4).unwrap_or(usize::MAX);
        Self {
            buffer_bytes: share.min(usual.buffer_bytes),
            ..usual
        }
    }
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            limit_bytes: u64::MAX,
            reserve_bytes: 64 << 20,
            buffer_bytes: 16 << 20,
            threads: true,
        }
    }
}
