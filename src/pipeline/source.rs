//! Where a lane's messages come from.

use crate::{
    kafka::{self, Polled},
    lane::Message,
};

/// What a look found.
#[derive(Debug)]
pub(super) enum Look {
    /// A message; it has been handed over.
    Message,
    /// Nothing at the moment.
    Empty,
    /// Nothing, and the partition has been read to its end.
    End,
    /// The partition can't be read at the moment.
    Failed(kafka::Error),
}

/// Messages of one partition in the order of their offsets.
pub(super) trait Source: Send {
    /// Hands the next message to `take`, if there is one. It is only borrowed for the call.
    fn poll(&self, take: &mut dyn FnMut(Message<'_>)) -> Look;

    /// Calls `wake` whenever there is something again after there was nothing.
    fn on_nonempty(&mut self, wake: Box<dyn Fn() + Send + Sync>);
}

impl Source for kafka::Queue {
    fn poll(&self, take: &mut dyn FnMut(Message<'_>)) -> Look {
        match Self::poll(self) {
            Polled::Value(value) => {
                take(Message { offset: value.offset(), time_ms: value.time_ms(), payload: value.payload() });
                Look::Message
            }
            Polled::Empty => Look::Empty,
            Polled::End => Look::End,
            Polled::Failed(error) => Look::Failed(error),
        }
    }

    fn on_nonempty(&mut self, wake: Box<dyn Fn() + Send + Sync>) {
        Self::on_nonempty(self, wake);
    }
}
