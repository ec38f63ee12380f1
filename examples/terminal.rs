//! What the applications show of themselves on a terminal.

use std::io::{self, IsTerminal};
use std::time::Instant;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The number with a comma after every third digit.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Shows how far a step is, on standard error: a bar on a terminal, one line per second elsewhere.
pub struct Progress {
    label: String,
    total: u64,
    start: Instant,
    lines: u64,
    bar: Option<Bar>,
}

impl Progress {
    pub fn new(label: &str, total: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| Bar::new(label, total));
        Self { label: label.into(), total, start: Instant::now(), lines: 0, bar }
    }

    pub fn set(&mut self, done: u64) {
        if let Some(bar) = &mut self.bar {
            bar.set(done);
        } else if self.start.elapsed().as_secs() > self.lines {
            self.lines = self.start.elapsed().as_secs();
            eprintln!("{}: {} %", self.label, (done * 100 / self.total.max(1)).min(100));
        }
    }

    pub fn finish(mut self, what: &str) {
        if let Some(bar) = &mut self.bar {
            bar.follow_resize();
            bar.progress.finish_and_clear();
        }
        eprintln!("{}: {what} in {:.1} s", self.label, self.start.elapsed().as_secs_f64());
    }
}

/// A progress bar as wide as the terminal, whose width may change.
struct Bar {
    progress: ProgressBar,
    terminal: Term,
    /// The width of the terminal when the bar was last drawn.
    width: u16,
}

impl Bar {
    fn new(label: &str, total: u64) -> Self {
        let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent:>3} %")
            .expect("a valid template");
        let target = ProgressDrawTarget::stderr_with_hz(5);
        let progress = ProgressBar::with_draw_target(Some(total), target)
            .with_style(style)
            .with_message(label.to_owned());
        let terminal = Term::stderr();
        Self { progress, width: terminal.size().1, terminal }
    }

    fn set(&mut self, done: u64) {
        self.follow_resize();
        self.progress.set_position(done);
    }

    /// Redraws the bar if the terminal has another width now.
    ///
    /// A narrower terminal wraps the old bar into several rows, and `indicatif` would erase only
    /// the last one. So the others are erased here first.
    fn follow_resize(&mut self) {
        let width = self.terminal.size().1.max(1);
        if width == self.width {
            return;
        }
        if width < self.width {
            for _ in 1..self.width.div_ceil(width) {
                // If this fails, rows of the old bar stay on the screen, and nothing else is wrong.
                let _ = self.terminal.clear_line();
                let _ = self.terminal.move_cursor_up(1);
            }
        }
        self.width = width;
        self.progress.force_draw();
    }
}
