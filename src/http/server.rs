//! The listener.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::net::TcpListener;

use super::{
    Health,
    routes::{Seen, routes},
};
use crate::telemetry::Telemetry;

/// How long requests under way may take once the process ends.
const GRACE: Duration = Duration::from_secs(1);

/// A bound port, not yet served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

/// The port can't be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program has it.
    #[error("can't serve HTTP on {address}: another program listens there; give another `http.listen`")]
    Busy {
        /// The address of the configuration.
        address: SocketAddr,
    },
    /// The system refuses for another cause.
    #[error("can't serve HTTP on {address}: {cause}; give another `http.listen`")]
    Refused {
        /// The address of the configuration.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
}

impl Server {
    /// Takes the port, so that a busy one is known before anything else begins.
    ///
    /// # Errors
    /// When the port can't be had.
    pub async fn bind(address: SocketAddr) -> Result<Self, Error> {
        let refused = |cause: io::Error| match cause.kind() {
            io::ErrorKind::AddrInUse => Error::Busy { address },
            _ => Error::Refused { address, cause },
        };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address })
    }

    /// The address in use; differs from the configured one when that asked for any port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end`, then lets requests under way finish for a moment.
    pub async fn run(
        self,
        telemetry: Arc<Telemetry>,
        health: Arc<Health>,
        end: impl Future<Output = ()> + Send + 'static,
    ) {
        let (ended, end_seen) = tokio::sync::oneshot::channel::<()>();
        let end = async move {
            end.await;
            // Nobody listens when the server has stopped already.
            let _ = ended.send(());
        };
        let app = routes(Seen { telemetry, health });
        let serve = axum::serve(self.listener, app).with_graceful_shutdown(end);
        // A connection that is kept open must not hold the process up.
        let grace = async {
            let _ = end_seen.await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            // `serve` retries what fails on accept by itself and never returns an error.
            _ = serve.into_future() => {}
            () = grace => {}
        }
    }
}
