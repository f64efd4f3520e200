//! The consumer's side of the coordinator.

use tokio::sync::oneshot;

use super::{
    event::{Control, Event, Events, Fatal},
    source::Source,
};
use crate::kafka;

/// Asks the coordinator, and waits for the answer.
pub(super) struct Group {
    pub(super) events: Events,
}

impl Group {
    fn ask<T>(&self, control: impl FnOnce(oneshot::Sender<T>) -> Control) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.events.blocking_send(Event::Control(control(reply))).ok()?;
        answer.blocking_recv().ok()
    }
}

impl kafka::Listener for Group {
    fn assigned(&self, queues: Vec<(i32, kafka::Queue)>) -> Vec<kafka::Start> {
        let sources = queues.into_iter().map(|(partition, queue)| (partition, Box::new(queue) as Box<dyn Source>));
        let sources = sources.collect();
        self.ask(|reply| Control::Assigned { sources, reply }).unwrap_or_default()
    }

    fn revoked(&self, partitions: &[i32], lost: bool) {
        let partitions = partitions.to_vec();
        let _ = self.ask(|reply| Control::Revoked { partitions, lost, reply });
    }

    fn sight(&self, sight: kafka::Sight) {
        // One that is missed is followed by the next.
        let _ = self.events.try_send(Event::Sight(sight));
    }

    fn trouble(&self, error: kafka::Error) {
        let _ = self.events.try_send(Event::Trouble(error));
    }

    fn fatal(&self, error: kafka::Error) {
        let _ = self.events.blocking_send(Event::Control(Control::Fatal(Fatal::Consumer(error))));
    }
}
