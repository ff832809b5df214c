//! A session on a thread of its own, which does one job at a time while the caller uses another session.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use base::{Code, Error, Result};
use ra::Session;

/// What the thread does with its session.
pub type Job<T> = Box<dyn FnOnce(&mut dyn Session) -> Result<T> + Send>;

/// The thread.
pub struct SessionThread<T> {
    jobs: Sender<Job<T>>,
    results: Receiver<Result<T>>,
    thread: JoinHandle<Box<dyn Session>>,
    is_busy: bool,
}

impl<T: Send + 'static> SessionThread<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// `errno` if it cannot be made.
    pub fn start(mut session: Box<dyn Session>) -> Result<SessionThread<T>> {
        let (sender, jobs) = channel::<Job<T>>();
        let (done, results) = channel();
        let thread = thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                for job in jobs {
                    if done.send(job(&mut *session)).is_err() {
                        break;
                    }
                }
                session
            })
            .map_err(|e| Error::os(&e, "Can't start a thread"))?;
        Ok(SessionThread {
            jobs: sender,
            results,
            thread,
            is_busy: false,
        })
    }

    /// True while a job is being done, or its result was not taken.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Starts a job. The result of the one before must have been taken.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the thread ended.
    pub fn begin(&mut self, job: Job<T>) -> Result<()> {
        self.is_busy = true;
        self.jobs.send(job).map_err(|_| thread_ended())
    }

    /// Returns the result of the job if it is done now. `None` if there is none, or not yet.
    ///
    /// # Errors
    /// Those of the job.
    pub fn poll(&mut self) -> Result<Option<T>> {
        if !self.is_busy {
            return Ok(None);
        }
        match self.results.try_recv() {
            Ok(outcome) => {
                self.is_busy = false;
                outcome.map(Some)
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(thread_ended()),
        }
    }

    /// Waits for the job, and returns its result. `None` if there is none.
    ///
    /// # Errors
    /// Those of the job.
    pub fn wait(&mut self) -> Result<Option<T>> {
        if !self.is_busy {
            return Ok(None);
        }
        self.is_busy = false;
        self.results.recv().map_err(|_| thread_ended())?.map(Some)
    }

    /// Ends the thread and returns its session; `None` if it failed badly.
    pub fn finish(self) -> Option<Box<dyn Session>> {
        drop(self.jobs);
        self.thread.join().ok()
    }
}

fn thread_ended() -> Error {
    Error::new(Code::ASSERTION_FAIL, "The thread of a session ended")
}
