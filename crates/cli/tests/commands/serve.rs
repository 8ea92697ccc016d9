//! `tengen serve`: what it prints, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use rustix::process::{Pid, Signal, kill_process};

use tengen_store::{Create, RunInfo, Store};

use crate::common::{answer, start, tengen};

#[test]
fn prints_its_address_and_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("run").display().to_string();
    let store = Store::open(&location, Create::Always).unwrap();
    let info = RunInfo::new(
        "run-1",
        0,
        "tromp_taylor",
        vec!["5x5".to_owned()],
        serde_json::Value::Null,
    );
    store.put_run_info(&info).unwrap();
    let mut child = start(&["serve", "--store", &location, "--listen", "127.0.0.1:0"]);
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .trim()
        .strip_prefix("http://")
        .and_then(|line| line.strip_suffix('/'));
    let address = address.unwrap_or_else(|| panic!("{line:?}"));
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /runs/run HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("still empty"),
        "{page}"
    );
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = answer(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
}

#[test]
fn a_missing_store_is_named() {
    let answer = tengen(&["serve", "--store", "/no/such/store", "--listen", "127.0.0.1:0"]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("/no/such/store"), "{}", answer.stderr);
}
