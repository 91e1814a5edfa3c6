//! Graphs by the names of their files: `.aut`, `.hlts`, `.dot`, and `.zst` behind any of them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::aut::{AutReader, write_aut};
use crate::dot::write_dot;
use crate::hlts::{Hlts, HltsWriter, MAGIC};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::scratch::Spool;
use crate::sort::{EdgeSorter, Within};
use crate::{Error, Labels, UnfinishedFile};

/// What a file holds, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// The format.
    pub format: Format,
    /// Whether it is compressed by zstd.
    pub is_compressed: bool,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text of CADP and mCRL2.
    Aut,
    /// Our own (docs/reference/hlts.md).
    Hlts,
    /// A picture for Graphviz; written only.
    Dot,
}

impl FileKind {
    /// The kind of a file with this name.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let is_compressed = extension(path).as_deref() == Some("zst");
        let stem = path.file_stem().map(Path::new).filter(|_| is_compressed);
        let format = match extension(stem.unwrap_or(path)).as_deref() {
            Some("aut") => Format::Aut,
            Some("hlts") => Format::Hlts,
            Some("dot") => Format::Dot,
            _ => return Err(Error::UnknownFormat),
        };
        Ok(FileKind {
            format,
            is_compressed,
        })
    }
}

/// Opens a graph. An `.hlts` file is read where it is; others are first converted, in memory where
/// they are small and in a scratch file where not.
pub fn open(path: &Path, resources: &Resources<'_>) -> Result<Hlts, Error> {
    let kind = FileKind::of(path)?;
    if kind.format == Format::Dot {
        return Err(Error::NotReadable);
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    match (kind.format, kind.is_compressed) {
        (Format::Hlts, false) => Hlts::from_file(file),
        (Format::Hlts, true) => {
            let mut spool = Spool::new(resources);
            let mut input = zstd::stream::read::Decoder::new(file)?;
            copy(&mut input, &mut spool, resources)?;
            Hlts::open(spool.finish()?)
        }
        (_, false) => read_aut(BufReader::with_capacity(256 << 10, file), resources),
        (_, true) => {
            let input = zstd::stream::read::Decoder::new(file)?;
            read_aut(BufReader::with_capacity(256 << 10, input), resources)
        }
    }
}

/// Opens a graph by the name of its file, or else by what the file begins with.
pub fn open_any(path: &Path, resources: &Resources<'_>) -> Result<Hlts, Error> {
    if FileKind::of(path).is_ok_and(|kind| kind.format != Format::Dot) {
        return open(path, resources);
    }
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    let mut head = [0; MAGIC.len()];
    let is_plain = about.is_file() && about.len() >= head.len() as u64;
    if is_plain {
        file.read_exact(&mut head)?;
        file.rewind()?;
    }
    match head == *MAGIC {
        true => Hlts::from_file(file),
        false => read(file, resources),
    }
}

/// Reads a graph in any format that can be read, compressed or not, by what it begins with.
pub fn read(input: impl Read, resources: &Resources<'_>) -> Result<Hlts, Error> {
    const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let (head, input) = peek::<4>(input)?;
    match head[..] == ZSTD {
        false => read_plain(input, resources),
        true => read_plain(zstd::stream::read::Decoder::new(input)?, resources),
    }
}

fn read_plain(input: impl Read, resources: &Resources<'_>) -> Result<Hlts, Error> {
    let (head, mut input) = peek::<{ MAGIC.len() }>(input)?;
    if head[..] == MAGIC[..] {
        let mut spool = Spool::new(resources);
        copy(&mut input, &mut spool, resources)?;
        return Hlts::open(spool.finish()?);
    }
    read_aut(BufReader::with_capacity(256 << 10, input), resources)
}

/// The first `N` bytes, fewer where there are no more, and all of the stream.
fn peek<const N: usize>(mut input: impl Read) -> io::Result<(Vec<u8>, impl Read)> {
    let mut head = Vec::with_capacity(N);
    input.by_ref().take(N as u64).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(input);
    Ok((head, whole))
}

/// Reads a text in the `.aut` format, whose edges may be in any order.
pub fn read_aut(input: impl BufRead, resources: &Resources<'_>) -> Result<Hlts, Error> {
    let mut reader = AutReader::new(input, resources.memory_bytes / 4)?;
    let counts = reader.counts();
    resources.begin(Stage::Reading, counts.n_edges);
    let mut sorter = EdgeSorter::new(Within::Arrival, resources);
    let mut n = 0u64;
    while let Some(edge) = reader.next_edge()? {
        sorter.push(edge)?;
        n += 1;
        if n.is_multiple_of(NOTE_EVERY) {
            resources.poll()?;
            resources.note(NOTE_EVERY);
        }
    }
    resources.begin(Stage::Sorting, counts.n_edges);
    let labels = reader.into_labels();
    Hlts::build(counts.initial, resources, |writer| {
        let mut n = 0u64;
        sorter.finish(|edge| {
            n += 1;
            if n.is_multiple_of(NOTE_EVERY) {
                resources.poll()?;
                resources.note(NOTE_EVERY);
            }
            writer.push(edge)
        })?;
        Ok((counts.n_states, labels))
    })
}

/// Edges of a text between two looks at the stop flag.
const NOTE_EVERY: u64 = 1 << 16;

/// Writes a graph to a file, whose name says how. The file appears under its name only when it is
/// complete.
pub fn save(graph: &Hlts, path: &Path, resources: &Resources<'_>) -> Result<(), Error> {
    let kind = FileKind::of(path)?;
    // Pipes and devices cannot be replaced.
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        let file = File::options().write(true).open(path)?;
        return write_to(graph, kind, &file, resources);
    }
    let made = UnfinishedFile::beside(path)?;
    write_to(graph, kind, made.as_file(), resources)?;
    Ok(made.complete(path)?)
}

fn write_to(
    graph: &Hlts,
    kind: FileKind,
    file: &File,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(256 << 10, file);
    if kind.is_compressed {
        let mut encoder = zstd::stream::write::Encoder::new(&mut out, ZSTD_LEVEL)?;
        // A text has no checksum of its own.
        encoder.include_checksum(true)?;
        write(graph, kind.format, &mut encoder, resources)?;
        encoder.finish()?;
    } else {
        write(graph, kind.format, &mut out, resources)?;
    }
    out.flush()?;
    Ok(())
}

/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// Writes a graph in a format.
pub fn write(
    graph: &Hlts,
    format: Format,
    out: &mut dyn Write,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    resources.begin(Stage::Writing, graph.counts().n_edges);
    match format {
        Format::Aut => write_aut(graph, out, resources),
        Format::Dot => write_dot(graph, out, resources),
        Format::Hlts => write_hlts(graph, out, resources),
    }
}

/// Writes a graph with its values and multiplicities.
fn write_hlts(graph: &Hlts, out: &mut dyn Write, resources: &Resources<'_>) -> Result<(), Error> {
    let counts = graph.counts();
    let mut writer = HltsWriter::new(out, counts.initial, graph.value_len())?;
    graph.for_each_value(|value| writer.push_value(value))?;
    graph.for_each_edge(resources, |edge| writer.push(edge))?;
    let labels: &Labels = graph.labels();
    writer.finish(counts.n_states, labels)?;
    Ok(())
}

fn copy(input: &mut dyn Read, out: &mut dyn Write, resources: &Resources<'_>) -> Result<(), Error> {
    let mut buffer = vec![0; 256 << 10];
    resources.begin(Stage::Unpacking, 0);
    loop {
        resources.poll()?;
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            n => {
                out.write_all(&buffer[..n])?;
                resources.note(n as u64);
            }
        }
    }
}
