//! The screen of a run: lines for self-play, training and the gate, and a progress bar for the budget. If stderr is not
//! a terminal that can redraw lines, the same lines are printed, at first every ten seconds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

use tengen_run::{View, Watch};
use tengen_terminal::pace::Pace;

use crate::output::{bar, bars, counted, duration, interactive, say, spinner};
use crate::progress::{Count, Step, remove};

/// Draws each [`View`] on the terminal, or prints it.
struct Screen {
    /// Self-play, training, the parts of the loss, held-out games, the gate, and the champion.
    lines: [ProgressBar; 6],
    /// Shown once a GPU is used.
    gpu: Option<ProgressBar>,
    /// Shown while the store is unreachable.
    waiting: Option<ProgressBar>,
    budget: ProgressBar,
    /// When to print the lines.
    pace: Pace,
    /// Whether the last printed lines said that the run was waiting.
    printed_waiting: bool,
}

impl Screen {
    /// Opens the screen under a title.
    fn open(title: &str) -> Screen {
        say(title);
        let line = |name: &str| spinner(&format!("{{spinner}} {name:<9} {{wide_msg}}"));
        let lines = [
            line("self-play"),
            line("training"),
            spinner("  losses    {wide_msg}"),
            spinner("  held out  {wide_msg}"),
            line("gate"),
            spinner("  champion  {wide_msg}"),
        ];
        Screen {
            lines,
            gpu: None,
            waiting: None,
            budget: bar(1000, "  [{bar:28}] {percent:>3}%  {wide_msg}"),
            pace: Pace::eager(),
            printed_waiting: false,
        }
    }

    /// Updates the screen, or prints the lines if they are due.
    fn show(&mut self, view: &View) {
        let left = match (view.seconds_left, view.spent) {
            (Some(seconds), _) => format!("{} left", duration(seconds)),
            (None, Some(_)) => "just begun".to_owned(),
            (None, None) => "Ctrl-C stops cleanly".to_owned(),
        };
        let left = format!("{} so far, {left}", duration(view.seconds));
        if !interactive() {
            self.print(view, &left);
            return;
        }
        for (line, text) in self.lines.iter().zip(view.lines()) {
            line.set_message(text.to_owned());
            line.tick();
        }
        self.show_gpu(view.gpu.as_deref());
        self.show_waiting(view.waiting.as_deref());
        self.budget.set_position((view.spent.unwrap_or(0.0) * 1000.0) as u64);
        self.budget.set_message(left);
    }

    fn show_gpu(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let budget = &self.budget;
        let line = self.gpu.get_or_insert_with(|| {
            let line = spinner("{spinner} GPU       {wide_msg}");
            bars().remove(&line);
            bars().insert_before(budget, line)
        });
        line.set_message(text.to_owned());
        line.tick();
    }

    fn show_waiting(&mut self, text: Option<&str>) {
        let Some(text) = text else {
            if let Some(line) = self.waiting.take() {
                remove(&line);
            }
            return;
        };
        let budget = &self.budget;
        let line = self.waiting.get_or_insert_with(|| {
            let line = spinner("{spinner} waiting   {wide_msg}");
            bars().remove(&line);
            bars().insert_before(budget, line)
        });
        line.set_message(text.to_owned());
        line.tick();
    }

    fn print(&mut self, view: &View, left: &str) {
        let is_news = self.printed_waiting != view.waiting.is_some();
        if !self.pace.take_due() && !is_news {
            return;
        }
        let waiting = match &view.waiting {
            Some(text) => format!("waiting    {text}\n"),
            None if self.printed_waiting => "waiting    done: the store is reachable again\n".to_owned(),
            None => String::new(),
        };
        self.printed_waiting = view.waiting.is_some();
        let spent = view
            .spent
            .map_or(String::new(), |spent| format!("{:.0}%, ", spent * 100.0));
        let line = |name: &str, text: &str| match text {
            "" => String::new(),
            text => format!("{name:<10} {text}\n"),
        };
        let losses = line("losses", &view.losses) + &line("held out", &view.held_out);
        let champion = line("champion", &view.champion);
        let gpu = view
            .gpu
            .as_ref()
            .map_or(String::new(), |gpu| format!("GPU        {gpu}\n"));
        say(format!(
            "self-play  {}\ntraining   {}\n{losses}gate       {}\n{champion}{gpu}{waiting}budget     {spent}{left}",
            view.selfplay, view.training, view.gate
        ));
    }

    /// Removes the lines from the terminal.
    fn close(&self) {
        self.lines
            .iter()
            .chain(&self.gpu)
            .chain(&self.waiting)
            .chain([&self.budget])
            .for_each(remove);
    }
}

/// What stays in sight at the end of a run, above its last steps.
struct Ending {
    champion: ProgressBar,
    time: ProgressBar,
}

impl Ending {
    fn open(seconds: f64) -> Ending {
        let spent = format!(
            "  budget    spent after {}; its end takes {{elapsed}} so far",
            duration(seconds)
        );
        let time = spinner(&spent);
        time.enable_steady_tick(Duration::from_millis(500));
        let champion = spinner("  champion  {wide_msg}");
        bars().remove(&champion);
        Ending {
            champion: bars().insert_before(&time, champion),
            time,
        }
    }
}

/// Shows a run on the terminal.
#[derive(Default)]
pub(crate) struct Terminal {
    screen: Mutex<Option<Screen>>,
    ending: Mutex<Option<Ending>>,
    step: Mutex<Step>,
    closing: Mutex<Count>,
    reading: Mutex<Count>,
}

impl Terminal {
    /// Removes what [`Watch::standing`] shows.
    pub(crate) fn close(&self) {
        if let Some(Ending { champion, time }) = lock(&self.ending).take() {
            remove(&champion);
            remove(&time);
        }
    }
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

    fn standing(&self, champion: &str, seconds: f64) {
        if interactive() {
            let mut ending = lock(&self.ending);
            let ending = ending.get_or_insert_with(|| Ending::open(seconds));
            ending.champion.set_message(champion.to_owned());
        }
    }

    fn say(&self, sentence: &str) {
        say(sentence);
    }

    fn closing_step(&self, text: Option<&str>) {
        let mut step = lock(&self.step);
        match text {
            Some(text) => step.show(text),
            None => step.end(),
        }
    }

    fn closing_games(&self, done: u64, all: u64) {
        if done == 0 {
            say(format!(
                "Measuring the champion in {} (--closing-games 0 skips them)",
                counted(all, "game")
            ));
            return;
        }
        lock(&self.closing).show("closing matches", "games", done, all);
    }

    fn reading(&self, done: u64, all: u64) {
        lock(&self.reading).show("reading games", "positions", done, all);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
