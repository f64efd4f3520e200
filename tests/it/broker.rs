//! A broker of a test's own, where principals have the rights that they were given and no other.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const LOGIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";

/// Apache Kafka with an authorizer. The password of each principal is its name.
pub struct Broker {
    child: Option<Child>,
    folder: tempfile::TempDir,
    pub address: String,
}

impl Broker {
    pub fn start(principals: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free = || TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let (address, controller) = (format!("127.0.0.1:{}", free()), format!("127.0.0.1:{}", free()));
        let users: String = ["admin"].iter().chain(principals).map(|name| format!(" user_{name}=\"{name}\"")).collect();
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers={controller}\n\
             listeners=CLIENTS://{address},CONTROLLER://{controller}\nadvertised.listeners=CLIENTS://{address}\n\
             controller.listener.names=CONTROLLER\ninter.broker.listener.name=CLIENTS\n\
             listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             sasl.enabled.mechanisms=PLAIN\nsasl.mechanism.inter.broker.protocol=PLAIN\n\
             listener.name.clients.plain.sasl.jaas.config={LOGIN} username=\"admin\" password=\"admin\"{users};\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             super.users=User:admin;User:ANONYMOUS\nlog.dirs={}/data\nauto.create.topics.enable=false\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n",
            folder.path().display()
        );
        fs::write(folder.path().join("server.properties"), properties).expect("written");
        let login = format!("{LOGIN} username=\"admin\" password=\"admin\";");
        let admin = format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n");
        fs::write(folder.path().join("admin.properties"), admin).expect("written");
        let mut broker = Self { child: None, folder, address };
        let format = ["kafka.tools.StorageTool", "format", "--standalone", "-t", "4L6g3nShT-eMCtK--X86sw", "-c"];
        broker.tool(&[&format[..], &[&broker.path("server.properties")]].concat());
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

    fn path(&self, file: &str) -> String {
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
