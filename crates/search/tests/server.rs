//! Predictions through a server: the same as without one, for any number of clients, and words when it fails.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_search::{
    Batch, Client, EvaluationCache, Lockstep, PredictError, PredictionServer, Predictions, Predictor,
    ScriptedPredictor, Search, SearchConfig, ServerSetup, SimulatedDevice,
};

const SETUP: ServerSetup = ServerSetup {
    lanes: 2,
    most_positions: 64,
};

fn server(lanes: usize) -> PredictionServer {
    PredictionServer::start(ServerSetup { lanes, ..SETUP }).unwrap()
}

fn client(server: &PredictionServer, predictor: impl Predictor + Send + Clone + 'static) -> Client {
    let lanes = |_| Ok::<_, PredictError>(Box::new(predictor.clone()) as Box<dyn Predictor + Send>);
    server.add(lanes).unwrap().client()
}

/// Different positions on a canvas.
fn batch(predictor: &impl Predictor, canvas: Size, count: usize, first: usize) -> InputBatch {
    let mut batch = predictor.new_batch(canvas);
    for number in first..first + count {
        let mut position = Position::new(canvas);
        let points = position.legal_points();
        position.play(Move::Play(points.nth(number % points.len()).unwrap()));
        batch.push(&Features::of(&position, Komi::from_half_points(number as i16)));
    }
    batch
}

fn predicted(predictor: &mut impl Predictor, inputs: &InputBatch) -> Predictions {
    let mut out = Predictions::default();
    predictor.predict(inputs, &mut out).unwrap();
    out
}

/// Predicts as another predictor, once for each time it is allowed to, so that jobs can be made to wait.
#[derive(Clone)]
struct Held {
    inner: ScriptedPredictor,
    allowed: Arc<Mutex<Receiver<()>>>,
}

impl Held {
    fn new(seed: u64) -> (Held, Sender<()>) {
        let (allow, allowed) = channel();
        let inner = ScriptedPredictor::new(seed);
        let allowed = Arc::new(Mutex::new(allowed));
        (Held { inner, allowed }, allow)
    }
}

impl Predictor for Held {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        self.allowed.lock().unwrap().recv().unwrap();
        self.inner.predict(inputs, out)
    }

    fn name(&self) -> String {
        "held".to_owned()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, PlaneSet::ALL)
    }

    fn preferred_batch(&self) -> usize {
        4
    }
}

fn submit(client: &mut Client, batch: &mut Batch, ticket: usize, inputs: &InputBatch) {
    let mut job = loop {
        batch.begin(inputs.canvas(), client);
        batch.add(1, &Features::of(&Position::new(inputs.canvas()), Komi::ZERO));
        if let Some(job) = batch.take(ticket) {
            break job;
        }
    };
    job.inputs.copy_rows(inputs, 0..inputs.len());
    assert!(client.submit(job).unwrap().is_none(), "a server keeps every job");
}

/// Jobs that wait while the server is busy form one batch, except those of other canvases or networks and those that
/// would exceed the limit. All come back with their own predictions.
#[test]
fn waiting_jobs_of_one_network_and_canvas_are_joined() {
    let (small, large) = (Size::square(3).unwrap(), Size::square(5).unwrap());
    let server = server(1);
    let (held, allow) = Held::new(1);
    let lanes = |_| Ok::<_, PredictError>(Box::new(held.clone()) as Box<dyn Predictor + Send>);
    let network = server.add(lanes).unwrap();
    let (mut one, mut two) = (network.client(), network.clone().with_name("gate").client());
    assert_eq!(two.name(), "gate");
    let (other_held, other_allow) = Held::new(2);
    let mut other = client(&server, other_held);
    assert_eq!(
        (one.name(), one.preferred_batch(), one.depth()),
        ("held".to_owned(), 4, 2)
    );

    let batches = [(20, large), (16, large), (8, small), (24, large), (24, large)];
    let inputs: Vec<InputBatch> = batches
        .iter()
        .map(|&(count, canvas)| batch(&one, canvas, count, 100 * count))
        .collect();
    assert_eq!(inputs[0].plane_set(), PlaneSet::ALL, "the network's planes");
    let mut memory = Batch::new();
    // The first job keeps the server busy while the others get in line.
    submit(&mut one, &mut memory, 0, &inputs[0]);
    while server.stats().waiting > 0 {
        std::thread::yield_now();
    }
    for ticket in [1, 2, 3] {
        submit(&mut one, &mut memory, ticket, &inputs[ticket]);
    }
    submit(&mut other, &mut memory, 9, &inputs[1]);
    submit(&mut two, &mut memory, 4, &inputs[4]);
    for _ in 0..3 {
        allow.send(()).unwrap();
    }
    other_allow.send(()).unwrap();

    let expect = |found: tengen_search::Job, seed| {
        let expected = predicted(&mut ScriptedPredictor::new(seed), &found.inputs);
        assert_eq!(found.predictions, expected, "job {}", found.ticket);
        found.ticket
    };
    let tickets = [(); 4].map(|()| expect(one.collect().unwrap().unwrap(), 1));
    assert_eq!(
        tickets,
        [0, 1, 3, 2],
        "the job on another canvas comes after those that waited with the second"
    );
    assert_eq!(expect(two.collect().unwrap().unwrap(), 1), 4);
    assert_eq!(expect(other.collect().unwrap().unwrap(), 2), 9);
    assert!(one.collect().unwrap().is_none() && two.collect().unwrap().is_none());
    let stats = server.stats();
    // 20 alone, 16 + 24 + 24 = 64 together, 8 on the small board, and 16 of the other network.
    assert_eq!((stats.batches, stats.jobs, stats.positions), (4, 6, 108));
}

/// Threads with clients of two networks get what these predict.
#[test]
fn clients_on_many_threads_get_their_own_predictions() {
    let server = server(2);
    let networks = [3, 4].map(|seed| {
        let lanes = |_| Ok::<_, PredictError>(Box::new(ScriptedPredictor::new(seed)) as Box<dyn Predictor + Send>);
        (seed, server.add(lanes).unwrap())
    });
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (seed, network) = networks[thread % 2].clone();
            scope.spawn(move || {
                let mut client = network.client();
                for round in 0..50 {
                    let canvas = Size::square(2 + (round + thread) % 3).unwrap();
                    let inputs = batch(&client, canvas, 1 + (7 * round + thread) % 30, 1000 * thread + round);
                    let expected = predicted(&mut ScriptedPredictor::new(seed), &inputs);
                    assert_eq!(predicted(&mut client, &inputs), expected);
                }
            });
        }
    });
    let stats = server.stats();
    assert_eq!(stats.jobs, 300);
    assert!(stats.batches <= stats.jobs && stats.busy_ns > 0);
}

fn searches(count: usize) -> Vec<Search> {
    let size = Size::square(4).unwrap();
    let config = SearchConfig {
        visits: 24,
        ..SearchConfig::default()
    };
    let mut position = Position::new(size);
    (0..count)
        .map(|number| {
            if number % 12 == 0 {
                position = Position::new(size);
            }
            let points = position.legal_points();
            position.play(Move::Play(points.nth(number % points.len()).unwrap()));
            Search::new(
                config.clone(),
                &position,
                Komi::from_half_points(1),
                rng::stream(7, &[number as u64]),
            )
        })
        .collect()
}

fn results(searches: &[Search]) -> Vec<String> {
    searches.iter().map(|search| format!("{:?}", search.result())).collect()
}

/// Answers at once, and prefers batches of this size.
#[derive(Clone)]
struct Prefers(usize, ScriptedPredictor);

impl Predictor for Prefers {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        self.1.predict(inputs, out)
    }

    fn name(&self) -> String {
        format!("prefers {}", self.0)
    }

    fn preferred_batch(&self) -> usize {
        self.0
    }
}

/// The searches of a match are far fewer than a GPU's preferred batch, but are still divided, so that half of them
/// descend while the others are predicted.
#[test]
fn a_hundred_searches_are_two_jobs_per_round_on_a_server() {
    let server = server(1);
    let predictor = Prefers(1024, ScriptedPredictor::new(5));
    for (count, jobs_per_round) in [(128, 2), (40, 1)] {
        let [mut direct, mut served] = [searches(count), searches(count)];
        let mut cache = EvaluationCache::new(0);
        let mut lockstep = Lockstep::new();
        let one = lockstep.run(&mut direct, &mut predictor.clone(), &mut cache).unwrap();
        let mut client = client(&server, predictor.clone());
        assert_eq!((client.preferred_batch(), client.least_part()), (1024, 24));
        let several = lockstep.run(&mut served, &mut client, &mut cache).unwrap();
        assert_eq!(results(&served), results(&direct), "{count} searches");
        assert_eq!(several.batches, jobs_per_round * one.batches, "{count} searches");
    }
}

#[test]
fn searches_in_parts_find_the_same() {
    let server = server(2);
    for count in [1, 7, 8, 11] {
        let mut direct = searches(count);
        let mut served = searches(count);
        let mut cache = EvaluationCache::new(1 << 20);
        let mut lockstep = Lockstep::new();
        // Eight searches or more form two parts.
        let predictor = Prefers(4, ScriptedPredictor::new(5));
        lockstep.run(&mut direct, &mut predictor.clone(), &mut cache).unwrap();
        cache.clear();
        let before = server.stats();
        let mut client = client(&server, predictor);
        let stats = lockstep.run(&mut served, &mut client, &mut cache).unwrap();
        assert_eq!(results(&served), results(&direct), "{count} searches");
        assert_eq!(stats.batches, server.stats().jobs - before.jobs);
        assert_eq!(stats.evaluations, server.stats().positions - before.positions);
    }
}

/// Fails on every batch with more than this many positions.
#[derive(Clone)]
struct Fragile {
    most: usize,
    fails: Fails,
}

/// How a predictor fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    WithWords,
    WithPanic,
    OutOfMemory,
}

impl Predictor for Fragile {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        if inputs.len() > self.most {
            let words = "too many positions".to_owned();
            return Err(match self.fails {
                Fails::WithWords => PredictError::Failed(words),
                Fails::WithPanic => panic!("{words}"),
                Fails::OutOfMemory => PredictError::OutOfMemory(words),
            });
        }
        ScriptedPredictor::new(6).predict(inputs, out)
    }

    fn name(&self) -> String {
        "fragile".to_owned()
    }

    fn preferred_batch(&self) -> usize {
        2
    }
}

#[test]
fn errors_and_panics_reach_their_client_and_leave_the_server_working() {
    for fails in [Fails::WithWords, Fails::WithPanic] {
        let server = server(2);
        let mut fragile = client(&server, Fragile { most: 3, fails });
        let mut healthy = client(&server, ScriptedPredictor::new(6));
        let canvas = Size::square(4).unwrap();
        let (few, many) = (batch(&fragile, canvas, 3, 0), batch(&fragile, canvas, 4, 0));
        let expected = predicted(&mut ScriptedPredictor::new(6), &few);
        for _ in 0..3 {
            let error = fragile.predict(&many, &mut Predictions::default()).unwrap_err();
            let words = match fails {
                Fails::WithPanic => "panicked",
                _ => "too many positions",
            };
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(predicted(&mut fragile, &few), expected);
            assert_eq!(predicted(&mut healthy, &few), expected);
        }
        // A run of two parts that fails leaves nothing behind for the next.
        let mut cache = EvaluationCache::new(1 << 20);
        let mut lockstep = Lockstep::new();
        assert!(lockstep.run(&mut searches(9), &mut fragile, &mut cache).is_err());
        assert!(fragile.collect().unwrap().is_none());
        lockstep.run(&mut searches(3), &mut fragile, &mut cache).unwrap();
        assert_eq!(server.stats().halved, 0, "only for lack of memory");
    }
}

/// A batch beyond the GPU's memory is predicted in parts, and the server remembers how large they may be.
#[test]
fn batches_beyond_the_memory_are_predicted_in_parts() {
    let server = server(1);
    let fails = Fails::OutOfMemory;
    let mut fragile = client(&server, Fragile { most: 30, fails });
    let (small, large) = (Size::square(4).unwrap(), Size::square(5).unwrap());
    let inputs = batch(&fragile, small, 90, 0);
    assert_eq!(
        predicted(&mut fragile, &inputs),
        predicted(&mut ScriptedPredictor::new(6), &inputs)
    );
    // 90 do not fit, nor do 64 and 32 of them, but 16 do.
    assert_eq!(server.stats().halved, 3);
    let mut mixed = batch(&fragile, large, 40, 0);
    let position = Position::new(small);
    (0..5).for_each(|komi| mixed.push(&Features::of(&position, Komi::from_half_points(komi))));
    assert_eq!(
        predicted(&mut fragile, &mixed),
        predicted(&mut ScriptedPredictor::new(6), &mixed)
    );
    assert_eq!(server.stats().halved, 3, "the limit is remembered");
    server.lift_limit();
    predicted(&mut fragile, &inputs);
    assert_eq!(server.stats().halved, 6, "the limit was forgotten");

    let mut hopeless = client(&server, Fragile { most: 15, fails });
    let error = hopeless
        .predict(&inputs, &mut Predictions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("out of GPU memory even for 16 positions"), "{error}");
    assert!(error.contains("too many positions"), "{error}");
    assert_eq!(
        predicted(&mut fragile, &inputs),
        predicted(&mut ScriptedPredictor::new(6), &inputs)
    );
}

/// Jobs that wait together are no longer joined beyond what fits in the GPU's memory.
#[test]
fn jobs_are_joined_up_to_what_fits_in_the_memory() {
    let server = server(1);
    let fails = Fails::OutOfMemory;
    let lanes = |_| Ok::<_, PredictError>(Box::new(Fragile { most: 30, fails }) as Box<dyn Predictor + Send>);
    let network = server.add(lanes).unwrap();
    let (held, allow) = Held::new(1);
    let (mut fragile, mut held) = (network.client(), client(&server, held));
    let canvas = Size::square(4).unwrap();
    let (inputs, large) = (batch(&fragile, canvas, 10, 0), batch(&held, canvas, 1, 0));
    let mut memory = Batch::new();
    for (batches, halved) in [(2, 2), (5, 2)] {
        let before = server.stats();
        submit(&mut held, &mut memory, 9, &large);
        while server.stats().waiting > 0 {
            std::thread::yield_now();
        }
        (0..4).for_each(|ticket| submit(&mut fragile, &mut memory, ticket, &inputs));
        allow.send(()).unwrap();
        held.collect().unwrap().unwrap();
        for _ in 0..4 {
            let job = fragile.collect().unwrap().unwrap();
            assert_eq!(job.predictions, predicted(&mut ScriptedPredictor::new(6), &inputs));
        }
        let after = server.stats();
        assert_eq!((after.batches - before.batches, after.halved), (batches, halved));
    }
}

#[test]
fn clients_of_a_server_that_has_ended_fail() {
    let server = server(1);
    let mut client = client(&server, ScriptedPredictor::new(1));
    let inputs = batch(&client, Size::square(3).unwrap(), 2, 0);
    predicted(&mut client, &inputs);
    drop(server);
    let error = client.predict(&inputs, &mut Predictions::default()).unwrap_err();
    assert!(error.to_string().contains("server has ended"), "{error}");
}

/// Two lanes of a server are still one device.
#[test]
fn a_simulated_device_computes_one_batch_at_a_time() {
    let device: SimulatedDevice = "3:1000000".parse().unwrap();
    let server = server(2);
    let mut client = client(&server, device.clone());
    let start = std::time::Instant::now();
    let mut memory = Batch::new();
    let inputs = batch(&client, Size::square(3).unwrap(), 40, 0);
    for ticket in 0..4 {
        submit(&mut client, &mut memory, ticket, &inputs);
    }
    while client.collect().unwrap().is_some() {}
    let elapsed = start.elapsed();
    assert!(
        device.busy() >= device.time(40) * 4 && device.busy() <= elapsed,
        "{elapsed:?}"
    );
}
