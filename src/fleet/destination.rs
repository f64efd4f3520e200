//! Where a fleet's messages go: a topic, or a file of frames back to back.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{config, kafka};

/// How long the brokers may take to acknowledge what is left at the end.
const FLUSH: Duration = Duration::from_secs(120);

/// An open destination.
#[derive(Debug)]
pub struct Destination(Kind);

#[derive(Debug)]
enum Kind {
    File { writer: BufWriter<File>, path: PathBuf },
    Topic { producer: kafka::Producer, partitions: Vec<i32>, sent: u64, name: String },
}

/// Why messages can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The file can't be written.
    #[error("can't write `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// The brokers can't be reached, or refuse.
    #[error(transparent)]
    Kafka(#[from] kafka::Error),
    /// There is no such topic, and none is made here.
    #[error("there is no topic `{topic}` at {brokers}")]
    NoTopic {
        /// The topic.
        topic: String,
        /// The brokers that were asked.
        brokers: String,
    },
    /// The brokers acknowledged less than was sent.
    #[error("{sent} messages were sent to {topic}, but only {acknowledged} acknowledged")]
    Lost {
        /// Where they went.
        topic: String,
        /// Handed over.
        sent: u64,
        /// Acknowledged.
        acknowledged: u64,
    },
}

impl Destination {
    /// A new file; one that is there is overwritten.
    ///
    /// # Errors
    /// It can't be made.
    pub fn file(path: &Path) -> Result<Self, SendError> {
        let file = File::create(path).map_err(|cause| SendError::File { path: path.to_owned(), cause })?;
        Ok(Self(Kind::File { writer: BufWriter::with_capacity(1 << 20, file), path: path.to_owned() }))
    }

    /// The topic of the configuration, which has to be there.
    ///
    /// # Errors
    /// The brokers can't be reached, or have no such topic.
    pub async fn topic(kafka: &config::Kafka) -> Result<Self, SendError> {
        let no_topic = || SendError::NoTopic { topic: kafka.topic.clone(), brokers: kafka.brokers.clone() };
        let partitions = kafka::Admin::new(kafka)?.partitions(&kafka.topic).await?.ok_or_else(no_topic)?;
        let name = format!("topic `{}` at {}", kafka.topic, kafka.brokers);
        Ok(Self(Kind::Topic { producer: kafka::Producer::new(kafka)?, partitions, sent: 0, name }))
    }

    /// What it is, for people.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::File { path, .. } => format!("`{}`", path.display()),
            Kind::Topic { name, .. } => name.clone(),
        }
    }

    /// Sends one value; to the partitions of a topic in turn.
    ///
    /// # Errors
    /// It can't be sent, or an earlier one was given up.
    pub fn send(&mut self, value: Option<&[u8]>) -> Result<(), SendError> {
        match &mut self.0 {
            Kind::File { writer, path } => writer
                .write_all(value.unwrap_or_default())
                .map_err(|cause| SendError::File { path: path.clone(), cause }),
            Kind::Topic { producer, partitions, sent, .. } => {
                let turn = usize::try_from(*sent % partitions.len() as u64).unwrap_or_default();
                producer.send(Some(partitions[turn]), value)?;
                *sent += 1;
                Ok(())
            }
        }
    }

    /// Waits until all that was sent is written or acknowledged.
    ///
    /// # Errors
    /// Some of it is not.
    pub fn finish(self) -> Result<(), SendError> {
        match self.0 {
            Kind::File { mut writer, path } => writer.flush().map_err(|cause| SendError::File { path, cause }),
            Kind::Topic { producer, sent, name, .. } => match producer.flush(FLUSH)? {
                acknowledged if acknowledged == sent => Ok(()),
                acknowledged => Err(SendError::Lost { topic: name, sent, acknowledged }),
            },
        }
    }
}
