//! The threads that wait for the disk so that the search need not.
//!
//! Two read and one writes, which is as much as a device takes in long pieces. A job owns the memory
//! it works on and sends it back with the outcome; so nothing is shared but the queue, and a thread
//! is woken only when there is a job for it.
//! Without threads, jobs are done where they are handed in: then operations on the disk have one
//! order, which tests that stop at each of them need.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::buffers::{Aligned, Chunk};
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
    /// Write the first bytes of the chunk, so many, to this offset; and the header of the file
    /// before them, if it has none yet.
    Write(u64, usize, Option<Aligned>),
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

/// Jobs that wait for a thread.
#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    called: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<(Job, SyncSender<Done>)>,
    n_idle: usize,
    /// No more jobs are taken.
    is_closed: bool,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job, answer: SyncSender<Done>) {
        let mut jobs = self.jobs();
        // If there is no thread to take the job, its answer is dropped, which is an answer.
        if !jobs.is_closed {
            jobs.waiting.push_back((job, answer));
        }
        let is_idle = jobs.n_idle > 0;
        drop(jobs);
        if is_idle {
            self.called.notify_one();
        }
    }

    /// The next job; `None` when there are none and will be none.
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
        // Should a thread not start, those that did end with this.
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
        match (&self.queues, &job.work) {
            (None, _) => run(job, &answer),
            (Some((readers, _)), Work::Read(_)) => readers.push(job, answer),
            (Some((_, writers)), Work::Write(..)) => writers.push(job, answer),
        }
        Pending(pending)
    }
}

/// Does a job for which the caller would only wait.
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
            // A thread that panicked has left its jobs unanswered, which was seen there.
            let _ = thread.join();
        }
    }
}

/// Leaves nobody waiting for a thread that has panicked.
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
    // Whoever asked may have given up since.
    let _ = answer.send((job.chunk, outcome));
}
