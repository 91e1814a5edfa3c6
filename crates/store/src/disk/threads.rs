//! I/O threads, so that the search does not wait for the disk.
//!
//! Two read and one writes, which saturates a device with long requests. A job owns its memory and
//! sends it back with the result; so only the queue is shared, and a thread is woken only when
//! there is a job for it. Without threads the caller does its jobs: then operations on the disk
//! have one order, which tests that stop at each of them need.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::buffers::{Aligned, Chunk};
use super::medium::DiskFile;

const N_READERS: usize = 2;

/// A read into a chunk, or a write from it.
pub(crate) struct Job {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) chunk: Chunk,
    pub(crate) work: Work,
}

/// What a job does with its chunk.
pub(crate) enum Work {
    /// Fill the ranges of the chunk from these offsets.
    Read(Vec<(u64, Range<usize>)>),
    /// Write this many bytes of the chunk to this offset, and first the header of the file, if it
    /// has none yet.
    Write(u64, usize, Option<Aligned>),
}

/// The chunk, and the result.
pub(crate) type Done = (Chunk, io::Result<()>);

/// A submitted job.
pub(crate) struct Pending(Receiver<Done>);

impl Pending {
    /// Without waiting; `None` while the job is not done.
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

/// The queue of jobs.
#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    called: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<(Job, SyncSender<Done>)>,
    n_idle: usize,
    /// Whether the queue is closed.
    is_closed: bool,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job, answer: SyncSender<Done>) {
        let mut jobs = self.jobs();
        // Without a thread to take the job its sender is dropped, which the receiver notices.
        if !jobs.is_closed {
            jobs.waiting.push_back((job, answer));
        }
        let is_idle = jobs.n_idle > 0;
        drop(jobs);
        if is_idle {
            self.called.notify_one();
        }
    }

    /// The next job; `None` when the queue is empty and closed.
    fn pop(&self) -> Option<(Job, SyncSender<Done>)> {
        let mut jobs = self.jobs();
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            if jobs.is_closed {
                return None;
            }
            jobs.n_idle += 1;
            let woken = self.called.wait(jobs);
            jobs = woken.unwrap_or_else(PoisonError::into_inner);
            jobs.n_idle -= 1;
        }
    }

    fn close(&self) {
        self.jobs().is_closed = true;
        self.called.notify_all();
    }
}

/// The threads of a folder; they end when this is dropped.
pub(crate) struct IoThreads {
    /// Readers' and writers' queue; `None` where jobs are done at once.
    queues: Option<(Arc<Queue>, Arc<Queue>)>,
    threads: Vec<JoinHandle<()>>,
}

impl IoThreads {
    pub(crate) fn start() -> io::Result<Self> {
        let (readers, writers) = <(Arc<Queue>, Arc<Queue>)>::default();
        // If a thread does not start, those that did end with this.
        let mut started = Self {
            queues: Some((Arc::clone(&readers), Arc::clone(&writers))),
            threads: Vec::new(),
        };
        for _ in 0..N_READERS {
            started.threads.push(spawn("read", &readers)?);
        }
        started.threads.push(spawn("write", &writers)?);
        Ok(started)
    }

    /// No threads: the caller does its jobs.
    pub(crate) fn none() -> Self {
        Self {
            queues: None,
            threads: Vec::new(),
        }
    }

    pub(crate) fn submit(&self, job: Job) -> Pending {
        // Room for the one result, so the thread never waits for the receiver.
        let (answer, pending) = mpsc::sync_channel(1);
        match (&self.queues, &job.work) {
            (None, _) => run(job, &answer),
            (Some((readers, _)), Work::Read(_)) => readers.push(job, answer),
            (Some((_, writers)), Work::Write(..)) => writers.push(job, answer),
        }
        Pending(pending)
    }
}

/// Does a job on this thread, where the caller would only wait.
pub(crate) fn do_now(job: Job) -> Pending {
    let (answer, pending) = mpsc::sync_channel(1);
    run(job, &answer);
    Pending(pending)
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        if let Some((readers, writers)) = self.queues.take() {
            readers.close();
            writers.close();
        }
        for thread in self.threads.drain(..) {
            // The jobs of a thread that panicked have failed already.
            let _ = thread.join();
        }
    }
}

/// Closes the queue if the thread panics, so that nobody waits for it.
struct Ending(Arc<Queue>);

impl Drop for Ending {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut jobs = self.0.jobs();
            jobs.is_closed = true;
            jobs.waiting.clear();
        }
    }
}

fn spawn(what: &str, queue: &Arc<Queue>) -> io::Result<JoinHandle<()>> {
    let ending = Ending(Arc::clone(queue));
    thread::Builder::new()
        .name(format!("disk-{what}"))
        .stack_size(256 << 10)
        .spawn(move || {
            while let Some((job, answer)) = ending.0.pop() {
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
        Work::Write(offset, len, header) => {
            let header = header.as_ref();
            let begun = header.map_or(Ok(()), |header| job.file.write_at(header.bytes(), 0));
            begun.and_then(|()| job.file.write_at(&job.chunk.bytes()[..*len], *offset))
        }
    };
    // The receiver may be gone.
    let _ = answer.send((job.chunk, outcome));
}
