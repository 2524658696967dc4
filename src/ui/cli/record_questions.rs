//! Where a recorder gets the questions for its metrics from: an exporter of its own, or one that
//! several contexts share.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::record_metrics::MetricsOptions;
use lockscope_live::exporter::{Exporter, Question};
use lockscope_model::metrics::Scrapes;

/// How long a context has for its part of an answer.
const PART_WITHIN: Duration = Duration::from_secs(5);

/// The source of the questions.
#[derive(Debug)]
pub(super) enum Questions {
    /// An exporter of its own, once it is started.
    Own(Option<Exporter>),
    /// An exporter at this address that others answer, too.
    Shared(SocketAddr, mpsc::Receiver<Question>),
}

impl Questions {
    /// Starts the own exporter, if metrics are wanted.
    pub(super) async fn start(&mut self, options: &MetricsOptions) -> anyhow::Result<()> {
        if let Self::Own(exporter @ None) = self {
            *exporter = options.start().await?;
        }
        Ok(())
    }

    /// Returns the address of the metrics.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Own(exporter) => exporter.as_ref().map(Exporter::address),
            Self::Shared(address, _) => Some(*address),
        }
    }

    /// Reads the web config file of the own exporter again.
    pub(super) fn reload(&self, options: &MetricsOptions) {
        if let Self::Own(exporter) = self {
            options.reload(exporter.as_ref());
        }
    }

    /// Waits for the next question; forever when no metrics are served. Cancel safe.
    pub(super) async fn next(&mut self) -> Question {
        let question = match self {
            Self::Own(Some(exporter)) => Some(exporter.next_question().await),
            Self::Own(None) => None,
            Self::Shared(_, questions) => questions.recv().await,
        };
        match question {
            Some(question) => question,
            None => std::future::pending().await,
        }
    }
}

/// An exporter whose questions several contexts answer together.
pub(super) struct SharedExporter {
    exporter: Exporter,
    contexts: Vec<(String, mpsc::Sender<Question>)>,
}

impl SharedExporter {
    pub(super) fn new(exporter: Exporter) -> Self {
        Self { exporter, contexts: Vec::new() }
    }

    /// Adds a context. Returns the source of its questions.
    pub(super) fn add(&mut self, context: &str) -> Questions {
        let (sender, questions) = mpsc::channel(1);
        self.contexts.push((context.to_owned(), sender));
        Questions::Shared(self.exporter.address(), questions)
    }

    /// Answers until it is dropped. On SIGHUP it reads the web config file again.
    pub(super) async fn answer(mut self, options: MetricsOptions) -> std::io::Result<()> {
        let mut hang_up = signal(SignalKind::hangup())?;
        loop {
            tokio::select! {
                question = self.exporter.next_question() => match question {
                    // The client may be gone by now.
                    Question::Metrics(asker) => _ = asker.send(self.metrics().await),
                    Question::Health(asker) => _ = asker.send(self.health().await),
                },
                _ = hang_up.recv() => options.reload(Some(&self.exporter)),
            }
        }
    }

    async fn metrics(&self) -> Scrapes {
        let mut all = Scrapes::default();
        for (context, part) in self.ask(Question::Metrics).await {
            match part {
                Some(part) => all.known.extend(part.known),
                None => all.silent.push(context),
            }
        }
        all
    }

    async fn health(&self) -> Result<(), String> {
        let of = |(context, health): (String, Option<Result<(), String>>)| match health {
            Some(Ok(())) => None,
            Some(Err(sentence)) => Some(format!("{context}: {sentence}")),
            None => Some(format!("{context}: it is not recorded")),
        };
        let wrong: Vec<String> = self.ask(Question::Health).await.into_iter().filter_map(of).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Asks all contexts at once. `None` comes from those that are not recorded at the moment.
    async fn ask<T>(&self, question: fn(oneshot::Sender<T>) -> Question) -> Vec<(String, Option<T>)> {
        let parts = self.contexts.iter().map(async |(context, questions)| {
            let (sender, answer) = oneshot::channel();
            let asked = async {
                questions.send(question(sender)).await.ok()?;
                answer.await.ok()
            };
            (context.clone(), timeout(PART_WITHIN, asked).await.ok().flatten())
        });
        join_all(parts).await
    }
}
