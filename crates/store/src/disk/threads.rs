//! The threads that wait for the disk so that the search need not.
//!
//! Two read and one writes, which is as much as a device takes in long pieces. A job owns the memory
//! it works on and sends it back with the outcome; so nothing is shared, and nobody waits for a lock.
//! Without threads, jobs are done where they are handed in: then operations on the disk have one
//! order, which tests that stop at each of them need.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::buffers::Chunk;
use super::medium::DiskFile;

const N_READERS: usize = 2;

/// Something to read into a chunk, or to write from it.
pub(crate) struct Job {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) chunk: Chunk,
    pub(crate) work: Work,
}

/// What to do with a chunk.
pub(crate) enum Work {
    /// Fill the ranges of the chunk from these offsets.
    Read(Vec<(u64, Range<usize>)>),
    /// Write the first bytes of the chunk, so many, to this offset.
    Write(u64, usize),
}

/// The chunk, and whether it went well.
pub(crate) type Done = (Chunk, io::Result<()>);

/// A job that was handed in.
pub(crate) struct Pending(Receiver<Done>);

impl Pending {
    /// The same without waiting; `None` while the job is not done.
    pub(crate) fn poll(&self) -> Option<Result<Done, io::Error>> {
        match self.0.try_recv() {
            Ok(done) => Some(Ok(done)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(thread_has_ended())),
        }
    }

    /// Waits for the job to be done; the chunk is gone only if its thread is.
    pub(crate) fn wait(self) -> Result<Done, io::Error> {
        self.0.recv().map_err(|_| thread_has_ended())
    }
}

fn thread_has_ended() -> io::Error {
    io::Error::other("a thread for input and output has ended")
}

type Queue = Sender<(Job, SyncSender<Done>)>;

/// The threads of a folder; they end when this is dropped.
pub(crate) struct IoThreads {
    /// Readers' and writers' queue; `None` where jobs are done at once.
    queues: Option<(Queue, Queue)>,
    threads: Vec<JoinHandle<()>>,
}

impl IoThreads {
    pub(crate) fn start() -> io::Result<Self> {
        let (readers, read_jobs) = mpsc::channel();
        let (writers, write_jobs) = mpsc::channel();
        let mut threads = Vec::new();
        let read_jobs = Arc::new(Mutex::new(read_jobs));
        for _ in 0..N_READERS {
            threads.push(spawn("read", Arc::clone(&read_jobs))?);
        }
        threads.push(spawn("write", Arc::new(Mutex::new(write_jobs)))?);
        Ok(Self {
            queues: Some((readers, writers)),
            threads,
        })
    }

    /// No threads: whoever hands a job in does it.
    pub(crate) fn none() -> Self {
        Self {
            queues: None,
            threads: Vec::new(),
        }
    }

    pub(crate) fn submit(&self, job: Job) -> Pending {
        // Room for the one answer, so the thread never waits for the one who asked.
        let (answer, pending) = mpsc::sync_channel(1);
        match &self.queues {
            None => run(job, &answer),
            Some((readers, writers)) => {
                let queue = match job.work {
                    Work::Read(_) => readers,
                    Work::Write(..) => writers,
                };
                // If there is no thread to take the job, its answer is dropped, which is an answer.
                let _ = queue.send((job, answer));
            }
        }
        Pending(pending)
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        self.queues = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has left its jobs unanswered, which was seen there.
            let _ = thread.join();
        }
    }
}

type Jobs = Arc<Mutex<Receiver<(Job, SyncSender<Done>)>>>;

fn spawn(what: &str, jobs: Jobs) -> io::Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(format!("disk-{what}"))
        .stack_size(256 << 10)
        .spawn(move || {
            loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((job, answer)) = job else { return };
                run(job, &answer);
            }
        })
}

fn run(mut job: Job, answer: &SyncSender<Done>) {
    let outcome = match &job.work {
        Work::Read(pieces) => pieces.iter().try_for_each(|(offset, range)| {
            let bytes = &mut job.chunk.bytes_mut()[range.clone()];
            job.file.read_at(bytes, *offset)
        }),
        Work::Write(offset, len) => job.file.write_at(&job.chunk.bytes()[..*len], *offset),
    };
    // Whoever asked may have given up since.
    let _ = answer.send((job.chunk, outcome));
}
