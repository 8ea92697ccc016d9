//! A server over a small store, and a client that speaks plain HTTP to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use tengen_model::ModelId;
use tengen_search::UniformPredictor;
use tengen_serve::{Analyst, Runs, SearchAnalyst, Server};
use tengen_store::{Collection, Create, Promotion, RunInfo, Store};
use tengen_testing::{random_games, random_model};

/// A store in a folder of its own, which is deleted at the end.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
}

impl Fixture {
    /// The store of a run on 3x3 that has games and a champion.
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture::without_champion();
        fixture.promote(1, 1);
        fixture
    }

    pub(crate) fn without_champion() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("three").display().to_string();
        let store = Store::open(&location, Create::Always).unwrap();
        let config = json!({ "name": "<script>alert(1)</script>", "visits": 8 });
        let info = RunInfo::new("three-1", 0, "tromp_taylor", vec!["3x3".to_owned()], config);
        store.put_run_info(&info).unwrap();
        let fixture = Fixture { folder, store };
        fixture.publish(0);
        fixture
    }

    pub(crate) fn location(&self) -> String {
        self.store.location().to_owned()
    }

    /// Publishes five self-play games.
    pub(crate) fn publish(&self, sequence: u64) {
        let mut games = random_games(3, 5);
        for game in &mut games {
            game.game_id = format!("{}-{sequence}", game.game_id);
            game.white_model = "<img src=x onerror=alert(1)>".to_owned();
        }
        let collection = Collection::SelfPlay { generation: 0 };
        self.store
            .games()
            .publish_games(&collection, "worker-0", sequence, &games)
            .unwrap();
    }

    /// Publishes a model and makes it the champion.
    pub(crate) fn promote(&self, number: u32, generation: u32) -> ModelId {
        let id = self
            .store
            .models()
            .publish(generation, &random_model(generation.into()))
            .unwrap();
        let promotion = Promotion::now(&id, None, Value::Null);
        self.store.models().promote(number, &promotion).unwrap();
        id
    }
}

/// A running server; it ends with the value.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Running {
    pub(crate) fn over(locations: &[String]) -> Running {
        let load = |_: &Store, _: &ModelId| -> anyhow::Result<Box<dyn Analyst>> {
            Ok(Box::new(SearchAnalyst::new(Box::new(UniformPredictor), 1)))
        };
        let runs = Runs::open(locations).unwrap();
        let server = Server::bind(runs, "127.0.0.1:0".parse().unwrap(), Box::new(load)).unwrap();
        let (address, stop) = (server.address(), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&stop);
        Running {
            address,
            stop,
            thread: Some(std::thread::spawn(move || server.run(&flag))),
        }
    }

    /// Ends the server and returns what it says.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], &body.to_string())
    }

    /// Sends a request; a header `Host` among `headers` replaces the usual one.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.open(method, path, headers, body);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Opens a stream of events.
    pub(crate) fn events(&self, path: &str) -> Events {
        Events(BufReader::new(self.open("GET", path, &[], "")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An answer whose head is in lower case.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the status and returns the JSON.
    pub(crate) fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.json()
    }

    /// Checks that it was refused with this status and a sentence that contains this.
    pub(crate) fn refused(&self, status: u16, sentence: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.body.contains(sentence), "{sentence}: {self:?}");
    }
}

/// Server-sent events.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event's name and data; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<(String, String)> {
        let (mut event, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                event = text.trim().to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.trim().to_owned();
            } else if line.trim().is_empty() && !event.is_empty() {
                return Some((event, data));
            }
        }
    }
}
