//! Stands before ClickHouse and reads the requests: passes them on, alters them, or answers with the server's own codes where
//! the engine here can't be brought to.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use openssl::ssl::SslAcceptor;

use crate::proxy;

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// The server answers it.
    Forward,
    /// The server answers it, with a further argument in the URL.
    With(&'static str),
    /// The server answers it after a while.
    Late(Duration),
    /// It is answered with success and this text, and the server never sees it.
    Reply(&'static str),
    /// It is answered with an error of this code and text.
    Refuse(i32, &'static str),
}

/// Stands before the server.
pub struct Interposer {
    pub url: String,
}

impl Interposer {
    /// `decide` is shown the statement of each request, or of an insert the URL.
    pub fn new(decide: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::opening("http", Ok, decide)
    }

    /// Speaks TLS, and passes everything on.
    pub fn with_tls(acceptor: SslAcceptor) -> Self {
        Self::opening("https", move |client| acceptor.accept(client).map_err(io::Error::other), |_| Answer::Forward)
    }

    fn opening<S: Read + Write>(
        scheme: &str,
        open: impl Fn(TcpStream) -> io::Result<S> + Send + Sync + 'static,
        decide: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("{scheme}://{}", listener.local_addr().expect("bound"));
        let shared = Arc::new((open, decide));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                // A client that went away is its own affair.
                thread::spawn(move || serve(shared.0(client)?, &shared.1));
            }
        });
        Self { url }
    }
}

/// One request; the connection ends with it.
fn serve(client: impl Read + Write, decide: &dyn Fn(&str) -> Answer) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let (mut line, mut headers, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
        headers += &header;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut client = reader.into_inner();
    let is_insert = line.contains("query=INSERT");
    let answer = decide(if is_insert { &line } else { std::str::from_utf8(&body).unwrap_or(&line) });
    match answer {
        Answer::Refuse(code, text) => {
            let text = format!("Code: {code}. DB::Exception: {text}\n");
            let head = format!("HTTP/1.1 500 Refused\r\nX-ClickHouse-Exception-Code: {code}\r\n");
            write!(client, "{head}Connection: close\r\nContent-Length: {}\r\n\r\n{text}", text.len())?;
        }
        Answer::Reply(text) => {
            let length = text.len();
            write!(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}")?;
        }
        Answer::Forward | Answer::With(_) | Answer::Late(_) => {
            if let Answer::Late(after) = answer {
                thread::sleep(after);
            }
            if let Answer::With(argument) = answer {
                line = line.replacen("/?", &format!("/?{argument}&"), 1);
            }
            let mut server = TcpStream::connect(proxy::clickhouse())?;
            write!(server, "{line}{headers}Connection: close\r\n\r\n")?;
            server.write_all(&body)?;
            io::copy(&mut server, &mut client)?;
        }
    }
    client.flush()
}
