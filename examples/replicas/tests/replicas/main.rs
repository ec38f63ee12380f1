//! Writers and replicas on a server that each test starts and stops: what happens while they are killed and cut off,
//! and the answer to every lookup meanwhile.

mod figures;
mod history;
mod processes;
mod server;
mod world;

use redis::cmd;

use crate::history::{Expected, id};
use crate::processes::{Process, program};
use crate::server::{Proxy, Server, wait_for};
use crate::world::{SHARDS, World, ask};

const DURABLE: &str = "--appendonly yes --appendfsync always";

#[test]
fn a_late_replica_begins_at_a_snapshot_and_the_log_is_trimmed() {
    let mut world = World::start(DURABLE);
    world.quiet_rounds(14); // enough for two snapshots of each shard, and with the second the log is trimmed
    world.replicas[2] = world.replica(false);
    world.round(|_| {});
    assert!(!world.replicas[2].errors().contains("from 0-0 "), "{}", world.replicas[2].errors());
    assert!(world.history.snapshots() >= SHARDS);
    let mut kept = 0;
    for shard in 0..SHARDS {
        let entries: Vec<(String, Vec<String>)> = cmd("XRANGE")
            .arg(format!("{{finches:{shard}}}:log"))
            .arg(&["-", "+"])
            .query(&mut *world.connect())
            .expect("a log");
        kept += entries.iter().map(|(_, pairs)| pairs.len() / 2).sum::<usize>();
    }
    assert!(kept < world.history.changes() * 9 / 10, "{kept} of {}", world.history.changes());
    world.finish();
}

#[test]
fn a_killed_replica_starts_again() {
    let mut world = World::start(DURABLE);
    for number in [0, 1, 2, 0, 1, 2] {
        world.round(|world| world.replicas[number] = world.replica(number == 1));
    }
    world.finish();
}

#[test]
fn a_killed_writer_goes_on_behind_what_is_stored() {
    let mut world = World::start(DURABLE);
    for number in [0, 1, 2, 0, 1, 2] {
        world.round(|world| world.writers[number].restart());
    }
    world.finish();
}

#[test]
fn a_killed_server_has_all_that_it_acknowledged() {
    let mut world = World::start(DURABLE);
    for _ in 0..5 {
        world.round(|world| {
            let World { servers, replicas, .. } = world;
            // Meanwhile replicas answer from their memory.
            servers[0].restart_after(|| {
                for replica in replicas {
                    ask(replica, &["bird 1".into()]);
                }
            });
        });
    }
    world.finish();
}

#[test]
fn a_cut_connection_doubles_nothing_and_loses_nothing() {
    let mut world = World::start(DURABLE);
    for _ in 0..3 {
        // The replies to a writer and to a replica, after the server has done what they ask.
        world.round(|world| {
            world.proxy.cut_replies(20);
            world.proxy.wait_for_cuts();
        });
        world.round(|world| world.proxy.cut_all());
        world.round(|world| {
            let killed: u64 = cmd("CLIENT")
                .arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"])
                .query(&mut *world.connect())
                .expect("a number of connections");
            assert!(killed > 0);
        });
    }
    world.finish();
}

#[test]
fn a_replica_that_is_too_far_behind_begins_again_at_a_snapshot() {
    let mut world = World::start(DURABLE);
    world.round(|_| {});
    world.wait_for_replica(2);
    let replica = world.replicas.pop().expect("the third");
    replica.signal("-STOP");
    world.quiet_rounds(14); // enough for two snapshots of each shard, and with the second the log is trimmed
    replica.signal("-CONT");
    world.replicas.push(replica);
    world.wait_for_replica(2);
    let said = world.replicas[2].errors();
    assert_eq!(
        said.lines().filter(|line| line.contains("is read from")).count(),
        2 * SHARDS,
        "{said}"
    );
    world.finish();
}

/// A replica is slow to store its snapshot, and ends. Meanwhile others store theirs, and trim the log behind it.
#[test]
fn a_snapshot_that_is_stored_too_late_replaces_no_newer_one() {
    let mut world = World::start(DURABLE);
    let proxy = Proxy::start(world.servers[0].port);
    proxy.hold_snapshots();
    let mut hasty = world.arguments(false, "follow --every 300");
    hasty[1] = format!("redis://127.0.0.1:{}", proxy.port);
    let hasty = Process::start(&hasty);
    world.quiet_rounds(1); // 600 changes of each shard: it stores one, and the others store none
    wait_for("a snapshot", || (proxy.held() > 0).then_some(()));
    drop(hasty);
    world.quiet_rounds(14);
    proxy.release();
    world.replicas[0] = world.replica(false);
    world.quiet_rounds(1);
    world.finish();
}

#[test]
fn everything_at_once() {
    let mut world = World::start(DURABLE);
    for number in 0..6 {
        world.round(|world| {
            world.proxy.cut_replies(3);
            world.replicas[number % 3] = world.replica(number % 2 == 0);
            world.writers[(number + 1) % 3].restart();
            world.proxy.cut_all();
            world.servers[0].restart_after(|| {});
        });
    }
    world.proxy.cut_replies(0);
    world.finish();
}

/// There a script that uses names of two slots is refused.
#[test]
fn shards_are_on_several_nodes_of_a_cluster() {
    let mut world = World::with_servers(Server::start_cluster(DURABLE));
    let mut connection = world.connect();
    let mut slot_of = |shard: usize| -> u16 {
        cmd("CLUSTER")
            .arg("KEYSLOT")
            .arg(format!("{{finches:{shard}}}:log"))
            .query(&mut *connection)
            .expect("a slot")
    };
    assert!(slot_of(0) / 5461 != slot_of(1) / 5461, "both shards are on one node");
    world.quiet_rounds(10);
    assert!(world.history.snapshots() >= SHARDS);
    for node in [0, 1] {
        world.round(|world| world.servers[node].restart_after(|| {}));
    }
    world.finish();
}

#[test]
fn a_replica_of_one_shard_has_all_of_it_and_says_where_other_keys_are() {
    let mut world = World::start(DURABLE);
    world.round(|_| {});
    let keys: Vec<String> = world.history.keys().cloned().collect();
    let ends: Vec<_> = world.history.ends().map(|(end, _)| end).collect();
    for only in 0..SHARDS {
        let arguments = world.arguments(false, &format!("follow --only {only}"));
        let mut replica = Process::start(&arguments);
        replica.send(&keys);
        for key in &keys {
            let (shard, line) = (world.history.shard_of(key), replica.receive());
            if shard != only {
                assert_eq!(line, format!("shard {shard}\t-\t{key}"));
                continue;
            }
            // Its first answers have what was in the log before its start.
            let after = id(line.split('\t').nth(1).expect("an id"));
            assert_eq!(after, ends[shard], "{line}");
            let is_missed = line.starts_with("no");
            assert!(!is_missed || world.history.expected(key, after) == Expected::Absent, "{line}");
        }
    }
}

/// Without its file a server begins with nothing. A writer that had its reply does not go on as if nothing had
/// happened, and replicas have what the server has.
#[test]
fn a_server_that_lost_its_log_is_noticed() {
    let mut world = World::start("--appendonly no");
    world.round(|_| {});
    world.servers[0].restart_after(|| {});
    world.writers[0].send(vec!["+ a bird behind a gap".into()]);
    let said = world.writers[0].failure();
    assert!(said.contains("entries were lost"), "{said}");
    let keys: Vec<String> = world.history.keys().cloned().collect();
    for replica in &mut world.replicas {
        wait_for("an empty set", || {
            ask(replica, &keys).iter().all(|answer| !answer.1).then_some(())
        });
    }
}

/// A replica stores a snapshot of entries that the server loses meanwhile. No replica could continue from there.
#[test]
fn a_snapshot_that_is_ahead_of_the_log_is_not_stored() {
    let mut world = World::start("--appendonly no");
    world.proxy.hold_snapshots();
    let hasty = Process::start(&world.arguments(true, "follow --every 100"));
    world.round(|_| {}); // 600 changes of each shard: it stores snapshots, and the others store none
    let loads = || hasty.errors().lines().filter(|line| line.contains("is read from")).count();
    wait_for("a snapshot of each shard", || (world.proxy.held() >= SHARDS).then_some(()));
    assert_eq!(loads(), SHARDS);
    world.servers[0].restart_after(|| {});
    world.proxy.release();
    // It notices the loss after it has tried to store.
    wait_for("another start", || (loads() >= 2 * SHARDS).then_some(()));

    let keys: Vec<String> = (0..20).map(|number| format!("a bird behind a gap {number}")).collect();
    let mut writer = Process::start(&world.arguments(false, "write another"));
    writer.send(&keys.iter().map(|key| format!("+ {key}")).collect::<Vec<_>>());
    while writer.receive() != "20" {}
    let mut late = world.replica(false);
    for replica in world.replicas.iter_mut().chain([&mut late]) {
        wait_for("the new keys", || ask(replica, &keys).iter().all(|key| key.1).then_some(()));
    }
    assert!(late.errors().contains("from 0-0 "), "{}", late.errors());
}

/// The server ends the calls of replicas that wait for the next entry, as it does after a failover.
#[test]
fn a_replica_goes_on_after_an_error_that_passes() {
    let mut world = World::start(DURABLE);
    world.round(|_| {});
    let mut connection = world.connect();
    wait_for("an error of each replica", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut *connection).expect("a list");
        for client in clients.lines().filter(|client| client.contains(" cmd=xread ")) {
            let id = client.split([' ', '=']).nth(1).expect("id=1");
            let unblock = cmd("CLIENT").arg(&["UNBLOCK", id, "ERROR"]).exec(&mut *connection);
            unblock.expect("whether it was blocked");
        }
        let has_error = |replica: &Process| replica.errors().contains("UNBLOCKED");
        world.replicas.iter().all(has_error).then_some(())
    });
    world.round(|_| {});
    world.finish();
}

/// As if the process that sends the lines had been killed in the middle of the last one.
#[test]
fn a_line_that_was_cut_is_not_stored() {
    let server = Server::start(DURABLE);
    let start = || Process::start(&["--server", &server.url(), "write", "one"].map(Into::into));
    let mut writer = start();
    writer.end_with("+ user 1\n+ user 2\n+ user 12");
    let said = writer.failure();
    assert!(said.contains("line 3: \"+ user 12\" does not end with a line feed"), "{said}");
    let mut writer = start();
    writer.end_with("+ user 1\n+ user 2\n+ user 123\n");
    while writer.receive() != "3" {}
    let entries: Vec<(String, Vec<String>)> = cmd("XRANGE")
        .arg("{replicas:0}:log")
        .arg(&["-", "+"])
        .query(&mut server.connect())
        .expect("a log");
    let pairs: Vec<&str> =
        entries.iter().flat_map(|(_, pairs)| pairs).map(String::as_str).collect();
    assert_eq!(pairs, ["+", "user 1", "+", "user 2", "+", "user 123"]);
}

#[test]
fn wrong_arguments_are_said() {
    let server = Server::start(DURABLE);
    let run = |arguments: &str| {
        let with_password = server.url().replace("//", "//:wrong@");
        let arguments =
            arguments.replace("SERVER", &server.url()).replace("LOCKED", &with_password);
        let run = program().args(arguments.split(' ')).output().expect("it starts");
        (run.status.code(), String::from_utf8(run.stderr).expect("text"))
    };
    let (status, said) = run("--server SERVER --shards 4 write one");
    assert_eq!((status, said.as_str()), (Some(0), ""));
    for (arguments, expected_status, expected) in [
        ("--server SERVER --shards 2 follow", 1, "the number of shards of replicas is 4, not 2"),
        ("--server SERVER --shards 4 follow --only 0 --only 7", 1, "there is no shard 7"),
        ("--server LOCKED --shards 4 follow", 1, "Password authentication failed"),
        ("--server nowhere follow", 1, "URL"),
        ("--shards 0 follow", 2, "--shards"),
        ("--server SERVER --set large --shards 65537 write one", 2, "1..=65536"),
        ("write one --batch 5000", 2, "--batch"),
    ] {
        let (status, said) = run(arguments);
        assert!(status == Some(expected_status) && said.contains(expected), "{arguments}: {said}");
    }
    let mut writer = Process::start(
        &["--server", &server.url(), "--shards", "4", "write", "one"].map(Into::into),
    );
    writer.send(&["+ egg".into(), "nest".into()]);
    assert!(writer.failure().contains("line 2: \"nest\" is neither"), "{}", writer.errors());
}
