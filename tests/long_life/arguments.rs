//! How long, and with which random choices.

use std::time::Duration;

use bytesize::ByteSize;

const USAGE: &str = "\
Usage: tests/soak [--seed N] [--max-size SIZE] MINUTES

Runs the console (in a terminal), `lockscope watch` and `lockscope record --store --metrics` beside an ensemble of three
real servers, with test clients of four libraries (Curator, kazoo, ZooKeeper's own WriteLock, the built-in locks), for so
many minutes. Clients come and go, are killed and frozen; servers are killed and started anew, stopped, and cut off.

About twice a minute the clients pause. At this quiet point, what the console exports, what the lines of `watch` come to,
what `lockscope snapshot` reads of the recording and what the metrics say is compared with what a server lists: the locks,
their contenders in order (of `watch`: without), their sessions, and who holds. The clients write down when they hold, and
with which fencing token: two at once are a violation, unless one was frozen.

At the end it prints the figures. It exits with 1 when a contender was missed or invented, an order or a holder was wrong,
two clients held at once, a program of lockscope ended, the recording grew beyond its bound, or, when it runs for more than
10 minutes, one takes more than 10 % more memory in the last two minutes than in the two after the fifth (medians).

Options:
  --seed N          The same random choices as a run that printed this seed
  --max-size SIZE   Bound of the recording [default: 16MiB, which half an hour reaches]
  --help            Print this

What it needs is installed by `tests/run --install-only`. It takes about half of two cores.
";

/// What it was told.
#[derive(Clone, Debug)]
pub struct Arguments {
    pub time: Duration,
    pub seed: u64,
    /// Bound of the recording.
    pub max_size: ByteSize,
}

impl Arguments {
    /// Reads the words; `Err` is what to print instead, and whether it is an error.
    pub fn read(words: &[String]) -> Result<Self, (String, bool)> {
        let mut arguments = Self { time: Duration::ZERO, seed: fastrand::u64(..1 << 32), max_size: ByteSize::mib(16) };
        let mut words = words.iter();
        let wrong = |what: String| (format!("tests/soak: {what}. See tests/soak --help\n"), true);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| wrong(format!("{word} needs a value")));
            match word.as_str() {
                "--help" | "-h" => return Err((USAGE.to_owned(), false)),
                "--seed" => arguments.seed = value()?.parse().map_err(|_| wrong("a seed is a number".to_owned()))?,
                "--max-size" => {
                    arguments.max_size = value()?.parse().map_err(|_| wrong("a size is as 16MiB".to_owned()))?;
                }
                word => {
                    let minutes: Option<f64> = word.parse().ok().filter(|minutes| (0.1..=100_000.0).contains(minutes));
                    let minutes = minutes.ok_or_else(|| wrong(format!("{word} is no number of minutes")))?;
                    arguments.time = Duration::from_secs_f64(minutes * 60.0);
                }
            }
        }
        if arguments.time.is_zero() { Err(wrong("for how many minutes?".to_owned())) } else { Ok(arguments) }
    }
}
