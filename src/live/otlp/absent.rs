//! Takes the place of what sends, in a program that is built without the feature `otlp`: nothing
//! can be sent, so nothing is ever made that could be.

use std::convert::Infallible;
use std::future::Ready;

use super::{Endpoint, Origin, OtlpError, SendOutcome};
use lockscope_base::znode::Timestamp;
use lockscope_model::metrics::Scrape;
use lockscope_model::span::Span;

#[derive(Debug)]
pub struct Delivery(Infallible);

#[derive(Debug)]
pub struct OtlpMessage(Infallible);

impl Delivery {
    pub fn new(_: &Endpoint, _: &Origin) -> Result<Self, OtlpError> {
        Err(OtlpError::NotBuilt)
    }

    pub fn send(&self, _: &OtlpMessage) -> Ready<SendOutcome> {
        match self.0 {}
    }

    pub fn message_of(&self, _: &[Span]) -> OtlpMessage {
        match self.0 {}
    }

    pub fn metrics(&self, _: Scrape, _: Timestamp) -> Option<OtlpMessage> {
        match self.0 {}
    }
}

impl OtlpMessage {
    pub fn is_metrics(&self) -> bool {
        match self.0 {}
    }

    pub fn refused_in(&self, _: &[u8]) -> u64 {
        match self.0 {}
    }

    pub fn refusal(&self, _: &[u8]) -> String {
        match self.0 {}
    }
}
