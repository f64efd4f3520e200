//! What passes through one partition's queue, as its reader and librdkafka see it; read by whoever lets partitions fetch.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rdkafka::{
    consumer::base_consumer::PartitionQueue,
    error::{KafkaError, KafkaResult},
    types::RDKafkaErrorCode,
};

use super::{context::Group, turns::Seen};

/// The account of one queue.
#[derive(Default)]
pub(super) struct Meter {
    /// The queue, as long as its reader has it.
    queue: OnceLock<Weak<PartitionQueue<Group>>>,
    /// The reader's, for when something comes into the empty queue.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Held while a message is taken out, and while the partition is paused: librdkafka goes back to the last message that
    /// was handed over, and one that is just being handed over would come twice.
    handing: Mutex<()>,
    read: AtomicU64,
    largest: AtomicU64,
    waits: AtomicBool,
    at_end: AtomicBool,
    missed: AtomicBool,
}

impl Meter {
    /// For the reader: while it has this the partition is not paused. `None` while it is being paused.
    pub(super) fn take(&self) -> Option<MutexGuard<'_, ()>> {
        match self.handing.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// For whoever pauses: while it has this no message is taken out.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.handing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message of that many bytes was taken out.
    pub(super) fn took(&self, bytes: u64) {
        // The queue has one reader, so nothing is lost between the two halves.
        self.read.store(self.read.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
        if bytes > self.largest.load(Ordering::Relaxed) {
            self.largest.fetch_max(bytes, Ordering::Relaxed);
        }
        self.waits.store(true, Ordering::Relaxed);
        self.at_end.store(false, Ordering::Relaxed);
    }

    /// The queue is empty. If something comes in between, it is known again when the reader has looked the next time.
    pub(super) fn emptied(&self) {
        self.waits.store(false, Ordering::Relaxed);
        self.missed.store(true, Ordering::Relaxed);
    }

    /// The queue is empty, and the partition read to its end.
    pub(super) fn ended(&self) {
        self.at_end.store(true, Ordering::Relaxed);
        self.waits.store(false, Ordering::Relaxed);
    }

    /// Whose account it is.
    pub(super) fn of(&self, queue: Weak<PartitionQueue<Group>>) {
        let _ = self.queue.set(queue);
    }

    /// Calls `wake` from now on whenever something comes into the queue when it was empty.
    pub(super) fn on_filled(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    /// Something came into the queue when it was empty.
    pub(super) fn filled(&self) {
        self.waits.store(true, Ordering::Relaxed);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// The partition was paused, under [`Meter::hold`]: what its queue holds is out of date and comes again. librdkafka
    /// would keep it until the queue is looked into.
    ///
    /// # Errors
    /// A message was handed out, which it must not be: nobody would ever read it.
    pub(super) fn purge(&self) -> KafkaResult<()> {
        if let Some(queue) = self.queue.get().and_then(Weak::upgrade) {
            // What else is handed out is news of errors that pass.
            while let Some(polled) = queue.poll(Duration::ZERO) {
                if polled.is_ok() {
                    return Err(KafkaError::MessageConsumptionFatal(RDKafkaErrorCode::Inconsistent));
                }
            }
        }
        self.waits.store(false, Ordering::Relaxed);
        self.at_end.store(false, Ordering::Relaxed);
        self.missed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// How things stand. The largest message, and that the reader found nothing, are told once.
    pub(super) fn look(&self) -> Seen {
        Seen {
            read: self.read.load(Ordering::Relaxed),
            largest: self.largest.swap(0, Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            at_end: self.at_end.load(Ordering::Relaxed),
            missed: self.missed.swap(false, Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("read", &self.read).field("waits", &self.waits).finish_non_exhaustive()
    }
}
