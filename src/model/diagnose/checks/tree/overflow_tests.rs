//! Tests of `overflow`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator};

pub fn examples() -> Vec<Example> {
    ["2147480000", "2147483645", "2147483646", "2147483647", "-2147483648"]
        .map(|number| (Code::SequenceOverflow, overflow(number)))
        .into()
}

fn overflow(number: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create_at(&format!("{}{number}", curator("/l", 1)), 1);
    world.pass(2);
    world
}

fn with_number(number: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create_at(&format!("{}{number}", curator("/l", 1)), 1);
    world.pass(2);
    world
}

#[test]
fn a_queue_near_its_last_number_is_reported() {
    assert_eq!(with_number("2147480000").severity(Code::SequenceOverflow), Some(Severity::Warning));
    assert_eq!(with_number("2147483647").severity(Code::SequenceOverflow), Some(Severity::Critical));
    assert_eq!(with_number("1732180000").severity(Code::SequenceOverflow), None);
}

#[test]
fn overflowed_numbers_are_critical() {
    assert_eq!(with_number("-2147483648").severity(Code::SequenceOverflow), Some(Severity::Critical));
}

#[test]
fn a_recreated_parent_clears_the_finding() {
    let mut world = with_number("2147480000");
    world.delete(&crate::diagnose::testing::path("/l"));
    assert_eq!(world.pass(1).1, [Code::SequenceOverflow]);
    world.create(&curator("/l", 1), 1);
    assert_eq!(world.pass(3).0, []);
}
