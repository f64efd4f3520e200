//! A broker of a test's own, with the principals, rights and listeners that it was given and no other.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const LOGIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";

/// Apache Kafka, alone and its own controller. Killed when dropped, and its folder with it.
pub struct Broker {
    child: Option<Child>,
    folder: tempfile::TempDir,
    pub address: String,
}

/// Where clients connect: name, protocol, address.
pub type Listener<'a> = (&'a str, &'a str, &'a str);

/// An address that nobody listens on.
pub fn free() -> String {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string()
}

impl Broker {
    /// With an authorizer. The password of each principal is its name.
    pub fn start(principals: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let users: String = ["admin"].iter().chain(principals).map(|name| format!(" user_{name}=\"{name}\"")).collect();
        let properties = format!(
            "sasl.enabled.mechanisms=PLAIN\nsasl.mechanism.inter.broker.protocol=PLAIN\n\
             listener.name.clients.plain.sasl.jaas.config={LOGIN} username=\"admin\" password=\"admin\"{users};\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             super.users=User:admin;User:ANONYMOUS\n"
        );
        let login = format!("{LOGIN} username=\"admin\" password=\"admin\";");
        let admin = format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n");
        fs::write(folder.path().join("admin.properties"), admin).expect("written");
        Self::launch(folder, &[("CLIENTS", "SASL_PLAINTEXT", &free())], &properties, &[])
    }

    /// In a folder, with properties beside those that it has in any case, its storage formatted with further arguments. It
    /// talks to itself by the first listener.
    pub fn launch(folder: tempfile::TempDir, listeners: &[Listener<'_>], properties: &str, format: &[&str]) -> Self {
        let controller = free();
        let all = [listeners, &[("CONTROLLER", "PLAINTEXT", &controller)]].concat();
        let addresses = |of: &[Listener<'_>]| {
            of.iter().map(|(name, _, address)| format!("{name}://{address}")).collect::<Vec<_>>().join(",")
        };
        let map = all.iter().map(|(name, protocol, _)| format!("{name}:{protocol}")).collect::<Vec<_>>().join(",");
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers={controller}\n\
             listeners={}\nadvertised.listeners={}\nlistener.security.protocol.map={map}\n\
             controller.listener.names=CONTROLLER\ninter.broker.listener.name={}\n\
             log.dirs={}/data\nauto.create.topics.enable=false\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n\
             transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\n{properties}",
            addresses(&all),
            addresses(listeners),
            listeners[0].0,
            folder.path().display()
        );
        fs::write(folder.path().join("server.properties"), properties).expect("written");
        let mut broker = Self { child: None, folder, address: listeners[0].2.to_owned() };
        let tool = ["kafka.tools.StorageTool", "format", "--standalone", "-t", "4L6g3nShT-eMCtK--X86sw", "-c"];
        broker.tool(&[&tool[..], &[&broker.path("server.properties")], format].concat());
        let mut java = broker.java();
        java.arg("-Xmx512m").arg("kafka.Kafka").arg(broker.path("server.properties"));
        let child = java.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("java starts");
        let child = broker.child.insert(child);
        let begin = Instant::now();
        while TcpStream::connect(&broker.address).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(90), "the broker does not answer");
            assert!(child.try_wait().expect("a child").is_none(), "the broker ended");
            thread::sleep(Duration::from_millis(200));
        }
        broker
    }

    /// Gives a principal rights to a topic, or with `*` to all.
    pub fn allow(&self, principal: &str, topic: &str, operations: &[&str]) {
        let principal = format!("User:{principal}");
        let login = self.path("admin.properties");
        let mut arguments = vec!["org.apache.kafka.tools.AclCommand", "--bootstrap-server", &self.address];
        arguments.extend(["--command-config", &login, "--add", "--topic", topic, "--allow-principal", &principal]);
        arguments.extend(operations.iter().flat_map(|operation| ["--operation", operation]));
        self.tool(&arguments);
    }

    /// A file of its folder.
    pub fn path(&self, file: &str) -> String {
        self.folder.path().join(file).display().to_string()
    }

    fn java(&self) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dev = env::var_os("XTCP_DEV_DIR").map_or_else(|| root.join(".dev"), PathBuf::from);
        let jars = dev.join("kafka-libs");
        assert!(jars.exists(), "{} is missing: `make up` installs it", jars.display());
        let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java")).filter(|java| java.exists());
        let mut java = Command::new(home.unwrap_or_else(|| "java".into()));
        java.arg("-cp").arg(jars.join("*"));
        java
    }

    fn tool(&self, arguments: &[&str]) {
        let output = self.java().args(arguments).output().expect("java starts");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
