//! A TCP proxy that can be told to fail.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// What a proxy does with what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Passes it on.
    Pass,
    /// Closes connections, new ones and those that are open.
    Away,
    /// Takes requests and never answers.
    Silent,
}

/// `host:port` of the ClickHouse server.
pub fn clickhouse() -> String {
    let url = crate::support::clickhouse("x").urls.remove(0);
    format!("{}:{}", url.host_str().expect("a host"), url.port_or_known_default().expect("a port"))
}

/// Stands before a server.
pub struct Proxy {
    pub address: SocketAddr,
    mode: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

impl Proxy {
    /// A proxy before `host:port`.
    pub fn new(server: &str, mode: Mode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let mode = Arc::new(AtomicU8::new(mode as u8));
        let open = Arc::new(Mutex::new(Vec::new()));
        let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (server, now, kept, counted) = (server.to_owned(), mode.clone(), open.clone(), requests.clone());
        let came = connections.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                came.fetch_add(1, Ordering::SeqCst);
                if now.load(Ordering::SeqCst) == Mode::Away as u8 {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(&server) else { continue };
                let both = [client.try_clone(), upstream.try_clone()].into_iter().map_while(Result::ok);
                kept.lock().expect("alive").extend(both);
                pump(&client, &upstream, &now, Some(counted.clone()));
                pump(&upstream, &client, &now, None);
            }
        });
        Self { address, mode, open, requests, connections }
    }

    /// How many connections were made, those included that it closed at once.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many HTTP requests went through.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    /// What it does from now on.
    pub fn set(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::SeqCst);
        if mode == Mode::Away {
            for stream in self.open.lock().expect("alive").drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Passes on one direction; of requests, it counts them.
fn pump(from: &TcpStream, to: &TcpStream, mode: &Arc<AtomicU8>, requests: Option<Arc<AtomicU64>>) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    let mode = mode.clone();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if let Some(requests) = requests.as_ref().filter(|_| buffer.starts_with(b"POST ")) {
                requests.fetch_add(1, Ordering::SeqCst);
            }
            while requests.is_none() && mode.load(Ordering::SeqCst) == Mode::Silent as u8 {
                thread::sleep(Duration::from_millis(20));
            }
            // An answer held back until now must not slip out between the mode's change and the closing of its connection.
            if mode.load(Ordering::SeqCst) == Mode::Away as u8 {
                break;
            }
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
