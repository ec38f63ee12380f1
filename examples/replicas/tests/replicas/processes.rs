//! The program, as writers and as replicas.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tempfile::TempDir;

use crate::server::{PATIENCE, wait_for};

pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_replicas"))
}

/// A process, whose standard output is read all the time.
pub struct Process {
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: Receiver<String>,
    errors: PathBuf,
    /// Keeps the file of standard error.
    _folder: TempDir,
}

impl Process {
    pub fn start(arguments: &[String]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let errors = folder.path().join("errors");
        let mut command = program();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.stderr(File::create(&errors).expect("a file")).spawn().expect("it starts");
        let input = child.stdin.take().map(BufWriter::new);
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (sender, output) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, input, output, errors, _folder: folder }
    }

    pub fn send(&mut self, lines: &[String]) {
        let input = self.input.as_mut().expect("not closed");
        let sent = lines
            .iter()
            .try_for_each(|line| writeln!(input, "{line}"))
            .and_then(|()| input.flush());
        // A process that has ended does not print any more, and then `receive` fails.
        let _ = sent;
    }

    /// Sends some bytes, and closes its input.
    pub fn end_with(&mut self, text: &str) {
        let mut input = self.input.take().expect("not closed");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("it reads");
    }

    pub fn receive(&self) -> String {
        self.output
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{error}: {}", self.errors()))
    }

    pub fn errors(&self) -> String {
        fs::read_to_string(&self.errors).expect("a file")
    }

    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.expect("a command of POSIX").success());
    }

    /// Waits until it ends with an error, and returns what it says.
    pub fn failure(&mut self) -> String {
        let status = wait_for("the end of a process", || self.child.try_wait().expect("a child"));
        assert_eq!(status.code(), Some(1), "{}", self.errors());
        self.errors()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("{}", self.errors());
        }
    }
}
