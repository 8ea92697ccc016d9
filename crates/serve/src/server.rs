//! The server: its routes, its socket, and how it stops.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::guard::{Guard, guard};
use crate::open_games::OpenGames;
use crate::runs::Runs;
use crate::thinker::{LoadAnalyst, Thinker};
use crate::{assets, game_analysis, game_pages, play_pages, report_pages};

/// The default port.
pub const DEFAULT_PORT: u16 = 8181;

/// The largest request body, in bytes. The board's requests have about a hundred.
const MOST_BYTES: usize = 4096;

/// The most pages that may follow runs at the same time.
pub(crate) const MOST_WATCHERS: usize = 64;

/// How often the server checks whether it should stop.
const MOMENT: Duration = Duration::from_millis(100);

/// How often runs with open pages are checked for news.
const LOOK: Duration = Duration::from_millis(500);

/// How long requests in progress may take to finish when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// What all requests share.
pub(crate) struct State {
    pub(crate) runs: Runs,
    pub(crate) games: OpenGames,
    pub(crate) thinker: Thinker,
    /// Becomes true when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// [`State`], shared.
#[derive(Clone)]
pub(crate) struct Shared(Arc<State>);

impl Deref for Shared {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// A server that has its socket and is ready to run.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Binds a socket to this address; port 0 means any free port. `load` makes the analyst of a model.
    ///
    /// # Errors
    /// If the address cannot be used, for example because another program listens there, or if a thread cannot start.
    pub fn bind(runs: Runs, listen: SocketAddr, load: LoadAnalyst) -> anyhow::Result<Server> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("serve")
            .enable_all()
            .build()
            .context("cannot start the server's threads")?;
        let listener = runtime.block_on(TcpListener::bind(listen)).with_context(|| {
            format!("cannot listen on {listen}; name another address with --listen, such as 127.0.0.1:0 for any port")
        })?;
        let address = listener.local_addr().context("cannot find out the server's port")?;
        let (stop, stopping) = watch::channel(false);
        let shared = Shared(Arc::new(State {
            runs,
            games: OpenGames::default(),
            thinker: Thinker::start(load).context("cannot start the thread that searches")?,
            stopping,
        }));
        Ok(Server {
            runtime,
            listener,
            address,
            shared,
            stop,
        })
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether only this machine can reach the server.
    pub fn is_private(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Serves until `stop` is set.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(self, stop: &AtomicBool) -> anyhow::Result<()> {
        let app = app(self.shared.clone(), self.address.ip().is_loopback());
        let mut stopping = self.shared.stopping.clone();
        let shared = self.shared;
        let served = self.runtime.block_on(async {
            let followers = tokio::spawn(follow(shared.clone()));
            let gone = async move {
                // An error means that the server is gone, which ends this, too.
                let _ = stopping.wait_for(|stopping| *stopping).await;
            };
            let serving = axum::serve(self.listener, app)
                .with_graceful_shutdown(gone)
                .into_future();
            tokio::pin!(serving);
            let served = loop {
                tokio::select! {
                    served = &mut serving => break served,
                    () = tokio::time::sleep(MOMENT), if !stop.load(Ordering::SeqCst) => {}
                    () = tokio::time::sleep(GRACE), if stop.load(Ordering::SeqCst) => break Ok(()),
                }
                if stop.load(Ordering::SeqCst) {
                    self.stop.send_replace(true);
                    shared.thinker.stop();
                }
            };
            followers.abort();
            served
        });
        self.runtime.shutdown_timeout(GRACE);
        shared.thinker.end();
        served.context("the server failed")
    }
}

/// Checks the runs whose pages are open for news, until it is aborted.
async fn follow(shared: Shared) {
    loop {
        tokio::time::sleep(LOOK).await;
        for live in shared.runs.lives() {
            live.follow().await;
        }
    }
}

/// The routes of all pages and requests.
pub(crate) fn app(shared: Shared, loopback: bool) -> Router {
    Router::new()
        .route("/", get(report_pages::home))
        .route("/assets/{name}", get(assets::asset))
        .route("/compare", get(report_pages::compare))
        .route("/compare/sections", get(report_pages::compare_sections))
        .route("/compare/updates", get(report_pages::compare_updates))
        .route("/runs/{run}", get(report_pages::report))
        .route("/runs/{run}/sections", get(report_pages::report_sections))
        .route("/runs/{run}/updates", get(report_pages::report_updates))
        .route("/runs/{run}/games", get(game_pages::list))
        .route("/runs/{run}/games/{shard}/{number}", get(game_pages::game))
        .route("/runs/{run}/games/{shard}/{number}/record.sgf", get(game_pages::sgf))
        .route("/runs/{run}/games/{shard}/{number}/record.json", get(game_pages::json))
        .route(
            "/api/runs/{run}/games/{shard}/{number}/analysis",
            post(game_analysis::analysis),
        )
        .route("/runs/{run}/board", get(play_pages::board))
        .route("/api/runs/{run}/champion", get(play_pages::champion))
        .route("/api/runs/{run}/play", post(play_pages::start))
        .route("/api/play/{game}", get(play_pages::state))
        .route("/api/play/{game}/move", post(play_pages::play))
        .route("/api/play/{game}/reply", post(play_pages::reply))
        .route("/api/play/{game}/undo", post(play_pages::undo))
        .route("/api/play/{game}/analysis", post(play_pages::analysis))
        .route("/api/play/{game}/record.sgf", get(play_pages::sgf))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(from_fn_with_state(Arc::new(Guard { loopback }), guard))
        .with_state(shared)
}
