//! Files in a folder: checksummed, written behind and read ahead, listed in one manifest.
