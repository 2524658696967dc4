//! The command line: the duration and the seed of a run.

use std::time::Duration;

use bytesize::ByteSize;

const USAGE: &str = "\
Usage: tests/soak [--elections | --otlp] [--seed N] [--max-size SIZE] MINUTES

Runs the console (in a terminal), `lockscope watch` and `lockscope record --store --metrics` for MINUTES minutes, with an
ensemble of three real servers and test clients of four libraries (Curator, kazoo, ZooKeeper's own WriteLock, the built-in
locks). Clients come and go, are killed and frozen. Servers are killed and started again, stopped, and cut off.

About twice a minute the clients pause. At this quiet point the run compares what a server lists with the export of the
console, the lines of `watch`, `lockscope snapshot` of the recording, and the metrics: the locks, their contenders in order
(for `watch`: without order), their sessions, and the holders. The clients log when they hold, and with which fencing token:
two holders at once are a violation, unless one was frozen.

At the end the figures are printed. The run exits with 1 when a contender was missed or invented, an order or a holder was
wrong, two clients held at once, a program of lockscope ended, or the recording grew beyond its bound. A run of more than
10 minutes also exits with 1 when the memory of a program, as a median, is more than 10 % higher in the last two minutes
than in the two minutes after the fifth.

With --elections it runs `lockscope watch` beside elections of three libraries and ZooKeeper's own, and restarts their candidates
in turn, some with a kill. The run exits with 1 when a finding of elections is raised (nobody-leads, participant-missing,
two-leaders, flapping, stale-owner), or when the end of all candidates is not reported.

With --otlp it runs `lockscope record --store --otlp` beside kazoo's locks and a real collector that is away for the middle half of
the time. The run exits with 1 when a hold or a wait of the recording did not arrive once, with its times and its link to the hold
before it, and was not counted as lost; or when the recorder takes more than 200 MB.

Options:
  --elections       Restart the candidates of elections in turn, and expect no finding
  --otlp            Compare the spans that a collector gets with the recording
  --seed N          Make the same random choices as a run that printed this seed
  --max-size SIZE   Bound of the recording [default: 16MiB, which half an hour reaches]
  --help            Print this

`tests/run --install-only` installs what the run needs. It uses about half of two cores.
";

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Arguments {
    pub time: Duration,
    pub seed: u64,
    /// Whether the candidates of elections are restarted, in place of all other faults.
    pub elections: bool,
    /// Whether spans are sent to a collector, in place of all other parts of the run.
    pub otlp: bool,
    /// The size limit of the recording.
    pub max_size: ByteSize,
}

impl Arguments {
    /// Reads the arguments. `Err` holds the text to print instead, and whether it is an error.
    pub fn read(words: &[String]) -> Result<Self, (String, bool)> {
        let (seed, max_size) = (fastrand::u64(..1 << 32), ByteSize::mib(16));
        let mut arguments = Self { time: Duration::ZERO, seed, elections: false, otlp: false, max_size };
        let mut words = words.iter();
        let wrong = |what: String| (format!("tests/soak: {what}. See tests/soak --help\n"), true);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| wrong(format!("{word} needs a value")));
            match word.as_str() {
                "--help" | "-h" => return Err((USAGE.to_owned(), false)),
                "--elections" => arguments.elections = true,
                "--otlp" => arguments.otlp = true,
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
