//! An engine of a test's own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use xtcp_ingest::{
    clickhouse::Client,
    config::{self, Secret},
};

use crate::support;

/// An engine of its own behind the local stack's front, with one account for each set of rights.
pub struct Engine {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Engine {
    /// Starts it; `further` goes into its configuration.
    pub fn start(accounts: &[(String, Vec<String>)], further: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut roles, mut users) =
            (String::new(), String::from("{\"default\": {\"password\": \"\", \"role\": null}"));
        let mut names = Vec::new();
        for (name, grants) in accounts {
            let queries: String = grants.iter().map(|grant| format!("<query>{grant}</query>")).collect();
            roles += &format!("<{name}><grants>{queries}</grants></{name}>");
            users += &format!(", \"{name}\": {{\"password\": \"\", \"role\": \"{name}\"}}");
            names.push(name.as_str());
        }
        names.insert(0, "admin");
        let config = format!(
            "<clickhouse>{further}<max_server_memory_usage>2147483648</max_server_memory_usage><profiles><default/></profiles>\
             <quotas><default/></quotas><users><default><password/><networks><ip>127.0.0.1</ip></networks>\
             <profile>default</profile><quota>default</quota><grants><query>GRANT {}</query></grants></default>\
             </users><roles><admin><grants><query>GRANT ALL ON *.* WITH GRANT OPTION</query></grants></admin>{roles}\
             </roles></clickhouse>",
            names.join(", ")
        );
        fs::write(folder.path().join("config.xml"), config).expect("written");
        fs::write(folder.path().join("accounts.json"), users + "}").expect("written");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dev = std::env::var_os("XTCP_DEV_DIR").map_or_else(|| root.join(".dev"), PathBuf::from);
        let python = dev.join("venv/bin/python");
        assert!(python.exists(), "{} is missing: `make up` installs it", python.display());
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut command = Command::new(python);
        command.args(["-m", "front", "--name", "roles", "--port"]).arg(free.to_string());
        for (flag, file) in [
            ("--data", "data"),
            ("--log", "engine.log"),
            ("--spool", "spool"),
            ("--config", "config.xml"),
            ("--accounts", "accounts.json"),
        ] {
            command.arg(flag).arg(folder.path().join(file));
        }
        command.env("PYTHONPATH", root.join("dev/clickhouse")).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the front starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let started = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("serving"));
        assert!(started, "the front did not start");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port: free, folder }
    }

    /// A client under one of the accounts, or `default`, which may do everything.
    pub fn client(&self, account: &str, database: &str) -> Client {
        let url = format!("http://127.0.0.1:{}", self.port).parse().expect("a URL");
        let config = config::ClickHouse { urls: vec![url], user: account.to_owned(), ..support::clickhouse(database) };
        Client::new(&config::ClickHouse { password: Secret::default(), ..config }).expect("a client")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.folder.path();
    }
}
