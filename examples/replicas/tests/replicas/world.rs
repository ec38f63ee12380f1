//! A server, writers and replicas, and all that is known about the keys.

use std::env;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use redis::ConnectionLike;
use redis::cluster::ClusterClient;

use crate::history::{Expected, History, Id, id};
use crate::processes::Process;
use crate::server::{Proxy, Server, wait_for};

pub const SHARDS: usize = 2;

/// How many changes a writer gets in a round, and how many of these it stores at a time.
const CHANGES: usize = 400;
const BATCH: usize = 25;

pub struct Writer {
    arguments: Vec<String>,
    process: Process,
    /// All its changes. They outlive it, as an outbox in a database does.
    lines: Vec<String>,
    stored: usize,
}

impl Writer {
    fn new(arguments: Vec<String>) -> Self {
        let process = Process::start(&arguments);
        Self { arguments, process, lines: Vec::new(), stored: 0 }
    }

    pub fn send(&mut self, lines: Vec<String>) {
        self.process.send(&lines);
        self.lines.extend(lines);
    }

    pub fn wait_until_stored(&mut self, lines: usize) {
        while self.stored < lines {
            self.stored = self.process.receive().parse().expect("a number of lines");
        }
    }

    pub fn wait(&mut self) {
        self.wait_until_stored(self.lines.len());
    }

    /// Kills it, and starts another one with all lines.
    pub fn restart(&mut self) {
        self.process = Process::start(&self.arguments);
        self.process.send(&self.lines);
        self.stored = 0;
    }

    pub fn failure(&mut self) -> String {
        self.process.failure()
    }
}

/// An answer of a replica: the key, whether it is there, and after which entry.
type Answer = (String, bool, Id);

pub fn ask(replica: &mut Process, keys: &[String]) -> Vec<Answer> {
    replica.send(keys);
    let answer = |key: &String| {
        let line = replica.receive();
        let [is_present, after, of] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(of, key);
        (key.clone(), is_present == "yes", id(after))
    };
    keys.iter().map(answer).collect()
}

pub struct World {
    /// One, or the nodes of a cluster.
    pub servers: Vec<Server>,
    /// The way of one writer and of one replica to the server.
    pub proxy: Proxy,
    pub writers: Vec<Writer>,
    pub replicas: Vec<Process>,
    pub history: History,
    /// The keys that are in the set and may be removed by any writer, since their inserts are stored.
    present: Vec<String>,
    inserted: usize,
    random: StdRng,
    absent: usize,
    false_positives: usize,
}

impl World {
    pub fn start(server_options: &str) -> Self {
        Self::with_servers(vec![Server::start(server_options)])
    }

    pub fn with_servers(servers: Vec<Server>) -> Self {
        let proxy = Proxy::start(servers[0].port);
        let seed = env::var("COUCAL_SEED").map_or(1, |seed| seed.parse().expect("a number"));
        eprintln!("COUCAL_SEED={seed}");
        let mut world = Self {
            servers,
            proxy,
            writers: Vec::new(),
            replicas: Vec::new(),
            history: History::new("finches", SHARDS),
            present: Vec::new(),
            inserted: 0,
            random: StdRng::seed_from_u64(seed),
            absent: 0,
            false_positives: 0,
        };
        for number in 0..3 {
            let is_cut = number == 1;
            let writer = world.arguments(is_cut, &format!("write writer{number} --batch {BATCH}"));
            world.writers.push(Writer::new(writer));
            world.start_replica(is_cut);
        }
        world
    }

    pub fn arguments(&self, through_proxy: bool, command: &str) -> Vec<String> {
        let port = if through_proxy { self.proxy.port } else { self.servers[0].port };
        let server = format!("--server redis://127.0.0.1:{port}");
        let cluster = if self.servers.len() > 1 { " --cluster" } else { "" };
        let all = format!("{server}{cluster} --set finches --shards {SHARDS} {command}");
        all.split(' ').map(Into::into).collect()
    }

    /// Connects to the server, whatever the proxy does.
    pub fn connect(&self) -> Box<dyn ConnectionLike> {
        if let [server] = &self.servers[..] {
            return Box::new(server.connect());
        }
        let cluster = ClusterClient::new(self.servers.iter().map(Server::url)).expect("addresses");
        Box::new(cluster.get_connection().expect("a connection"))
    }

    pub fn replica(&self, through_proxy: bool) -> Process {
        // More changes than in a round: so the history reads all entries before they are trimmed.
        let every = 3 * CHANGES;
        Process::start(&self.arguments(through_proxy, &format!("follow --every {every}")))
    }

    fn start_replica(&mut self, through_proxy: bool) {
        let replica = self.replica(through_proxy);
        self.replicas.push(replica);
    }

    /// Changes: of three, two insert new keys, and one removes any other.
    fn changes(&mut self, number: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for change in 0..number {
            if change % 3 == 2 && !self.present.is_empty() {
                let removed = self.random.random_range(0..self.present.len());
                lines.push(format!("- {}", self.present.swap_remove(removed)));
            } else {
                lines.push(format!("+ bird {}", self.inserted));
                self.inserted += 1;
            }
        }
        lines
    }

    /// Keys of which some are in the set, some were, some come and go now, and some never were there.
    fn sample(&mut self, number: usize) -> Vec<String> {
        let Self { random, present, inserted, .. } = self;
        let any = |_| match random.random_range(0..4) {
            0 => format!("bird {}", random.random_range(0..*inserted)),
            1 => format!("fish {}", random.random::<u32>()),
            _ => present.choose(random).cloned().unwrap_or_default(),
        };
        (0..number).map(any).collect()
    }

    /// Lets all writers write, and something happen meanwhile. Checks all answers meanwhile, and all snapshots after
    /// it.
    pub fn round(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let mut new = Vec::new();
        for number in 0..self.writers.len() {
            let lines = self.changes(CHANGES);
            new.extend(lines.iter().filter_map(|line| line.strip_prefix("+ ")).map(String::from));
            self.writers[number].send(lines);
        }
        for writer in &mut self.writers {
            writer.wait_until_stored(writer.lines.len() - CHANGES * 3 / 4);
        }
        let mut answers = self.ask_all();
        meanwhile(self);
        answers.extend(self.ask_all());
        self.writers.iter_mut().for_each(Writer::wait);
        answers.extend(self.ask_all());
        let mut connection = self.connect();
        self.history.read(&mut *connection);
        self.history.check_snapshots(&mut *connection);
        self.check(&answers);
        self.present.extend(new);
    }

    /// Writes, and lets the replicas follow each time: so that as many snapshots are stored as there are changes for.
    pub fn quiet_rounds(&mut self, number: usize) {
        for _ in 0..number {
            self.round(|_| {});
            (0..self.replicas.len()).for_each(|replica| self.wait_for_replica(replica));
        }
    }

    fn ask_all(&mut self) -> Vec<Answer> {
        let keys = self.sample(300);
        self.replicas.iter_mut().flat_map(|replica| ask(replica, &keys)).collect()
    }

    fn check(&mut self, answers: &[Answer]) {
        for (key, is_present, after) in answers {
            match self.history.expected(key, *after) {
                Expected::Present => assert!(is_present, "{key} is missed after entry {after:?}"),
                Expected::Absent => {
                    self.absent += 1;
                    self.false_positives += usize::from(*is_present);
                }
                Expected::Either => {}
            }
        }
        // One in 5000 is expected: more than this have odds of less than one in 10^15.
        assert!(
            self.false_positives <= 20 + self.absent / 1000,
            "{} of {}",
            self.false_positives,
            self.absent
        );
    }

    pub fn wait_for_replica(&mut self, number: usize) {
        for (end, key) in self.history.ends() {
            let (replica, keys) = (&mut self.replicas[number], [key.clone()]);
            wait_for("the end of the log", || (ask(replica, &keys)[0].2 >= end).then_some(()));
        }
    }

    /// Checks that the log has all changes, once, and that each replica answers for all keys as a filter that got these
    /// changes. Removes all keys, and checks the replicas again.
    pub fn finish(mut self) {
        let fishes: Vec<String> = (0..5000).map(|number| format!("fish {number}")).collect();
        for is_empty in [false, true] {
            if is_empty {
                // Not more at a time than in a round.
                while !self.present.is_empty() {
                    let some =
                        self.present.split_off(self.present.len().saturating_sub(3 * CHANGES));
                    self.writers[0].send(some.iter().map(|key| format!("- {key}")).collect());
                    self.writers[0].wait();
                    let mut connection = self.connect();
                    self.history.read(&mut *connection);
                }
            }
            let keys: Vec<String> = self.history.keys().chain(&fishes).cloned().collect();
            for number in 0..self.replicas.len() {
                self.wait_for_replica(number);
                let answers = ask(&mut self.replicas[number], &keys);
                self.check(&answers);
                for (key, is_present, _) in answers {
                    let expected = self.history.answer_at_end(&key);
                    assert_eq!(
                        is_present,
                        expected.unwrap_or(is_present),
                        "{key} in replica {number}"
                    );
                    assert!(!is_empty || !is_present, "{key} is left in replica {number}");
                }
            }
        }
        self.history.check_lines(self.writers.iter().flat_map(|writer| &writer.lines));
        assert!(self.replicas.iter().all(|replica| !replica.errors().contains("not in the set")));
    }
}
