//! The screen of a run: a line each for self-play, training and the gate, and a progress bar for the budget. If stderr
//! is not a terminal, the same lines are printed every few seconds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use tengen_run::{View, Watch};

use crate::output::{bars, duration, interactive, say};

/// How often to print the lines when stderr is not a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Draws each [`View`] on the terminal, or prints it.
struct Screen {
    lines: [ProgressBar; 3],
    /// Only shown while the store is unreachable.
    waiting: Option<ProgressBar>,
    budget: ProgressBar,
    printed: Option<Instant>,
    /// Whether the last lines printed showed that the run was waiting.
    printed_waiting: bool,
}

impl Screen {
    /// Opens the screen under a title.
    fn open(title: &str) -> Screen {
        say(title);
        let line = |name: &str| {
            let bar = bars().add(ProgressBar::new_spinner());
            bar.set_style(style(&format!("{{spinner}} {name:<9} {{msg}}")));
            bar
        };
        let lines = [line("self-play"), line("training"), line("gate")];
        let budget = bars().add(ProgressBar::new(1000));
        budget.set_style(style("  [{bar:40}] {percent:>3}%  {msg}"));
        Screen {
            lines,
            waiting: None,
            budget,
            printed: None,
            printed_waiting: false,
        }
    }

    /// Updates the screen, or prints the lines if they are due.
    fn show(&mut self, view: &View) {
        let left = match view.seconds_left {
            Some(seconds) => format!("{} left", duration(seconds)),
            None => "no budget set; Ctrl-C stops cleanly".to_owned(),
        };
        if !interactive() {
            self.print(view, &left);
            return;
        }
        for (line, text) in self.lines.iter().zip([&view.selfplay, &view.training, &view.gate]) {
            line.set_message(text.clone());
            line.tick();
        }
        self.show_waiting(view.waiting.as_deref());
        self.budget.set_position((view.spent.unwrap_or(0.0) * 1000.0) as u64);
        self.budget.set_message(left);
    }

    fn show_waiting(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            if let Some(line) = self.waiting.take() {
                line.finish_and_clear();
                bars().remove(&line);
            }
            return;
        };
        let budget = &self.budget;
        let line = self.waiting.get_or_insert_with(|| {
            let line = bars().insert_before(budget, ProgressBar::new_spinner());
            line.set_style(style("{spinner} waiting   {msg}"));
            line
        });
        line.set_message(text.to_owned());
        line.tick();
    }

    fn print(&mut self, view: &View, left: &str) {
        let is_news = self.printed_waiting != view.waiting.is_some();
        if !is_news && self.printed.is_some_and(|at| at.elapsed() < PLAIN_EVERY) {
            return;
        }
        self.printed = Some(Instant::now());
        let waiting = match &view.waiting {
            Some(text) => format!("waiting    {text}\n"),
            None if self.printed_waiting => "waiting    done: the store is reachable again\n".to_owned(),
            None => String::new(),
        };
        self.printed_waiting = view.waiting.is_some();
        let spent = view
            .spent
            .map_or(String::new(), |spent| format!("{:3.0}%, ", spent * 100.0));
        say(format!(
            "self-play  {}\ntraining   {}\ngate       {}\n{waiting}           {spent}{left}",
            view.selfplay, view.training, view.gate
        ));
    }

    /// Removes the lines from the terminal.
    fn close(&self) {
        for line in self.lines.iter().chain(&self.waiting) {
            line.finish_and_clear();
        }
        self.budget.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Shows a run on the terminal.
#[derive(Default)]
pub(crate) struct Terminal {
    screen: Mutex<Option<Screen>>,
    /// The line of the current closing step, and the bar of games being read.
    step: Mutex<Option<ProgressBar>>,
    reading: Mutex<Option<ProgressBar>>,
}

impl Watch for Terminal {
    fn begin(&self, title: &str) {
        *lock(&self.screen) = Some(Screen::open(title));
    }

    fn show(&self, view: &View) {
        if let Some(screen) = &mut *lock(&self.screen) {
            screen.show(view);
        }
    }

    fn end(&self) {
        if let Some(screen) = lock(&self.screen).take() {
            screen.close();
        }
    }

    fn say(&self, sentence: &str) {
        say(sentence);
    }

    fn closing_step(&self, text: Option<&str>) {
        let mut step = lock(&self.step);
        let Some(text) = text else {
            if let Some(line) = step.take() {
                line.finish_and_clear();
            }
            return;
        };
        let line = step.get_or_insert_with(|| {
            let line = bars().add(ProgressBar::new_spinner());
            line.enable_steady_tick(Duration::from_millis(200));
            line
        });
        line.set_message(text.to_owned());
    }

    fn reading(&self, done: u64, all: u64) {
        let mut reading = lock(&self.reading);
        let bar = reading.get_or_insert_with(|| {
            let bar = bars().add(ProgressBar::new(all));
            bar.set_style(style(
                "reading games [{bar:40}] {human_pos}/{human_len} positions, {eta} left",
            ));
            bar
        });
        bar.set_position(done);
        if done >= all {
            bar.finish_and_clear();
            *reading = None;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
