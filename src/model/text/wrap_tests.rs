//! Tests of `wrap`.

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

const U: Charset = Charset::Unicode;

#[test]
fn long_text_breaks_into_lines_and_nothing_is_lost() {
    assert_eq!(wrap_words("try zk1 again soon", 9, U), ["try zk1", "again", "soon"]);
    assert_eq!(wrap_words("a overlongword", 5, U), ["a", "overl", "ongwo", "rd"]);
    assert_eq!(wrap_words("no read-only", 9, U), ["no", "read-only"]);
    assert_eq!(wrap_words("", 5, U), [""]);
    assert_eq!(wrap_bytes(b"ab\xff\x00", 4, U), ["ab\\x", "ff\\0"]);
    assert_eq!(wrap_bytes(b"a b   ", 2, U), ["a ", "b ", "  "]);
}

#[test]
fn spaces_around_a_text_are_dropped() {
    assert_eq!(wrap_words("  ab  cd  ", 4, U), ["ab", "cd"]);
    assert_eq!(wrap_words(&" ".repeat(50), 4, U), [""]);
}

proptest! {
    #[test]
    fn lines_are_harmless_and_fit(bytes in prop::collection::vec(any::<u8>(), 0..80), columns in 0usize..40) {
        let words = wrap_words(&String::from_utf8_lossy(&bytes), columns, U);
        for line in wrap_bytes(&bytes, columns, U).into_iter().chain(words) {
            prop_assert!(line.width() <= columns.max(2) && !line.chars().any(char::is_control));
        }
    }

    #[test]
    fn no_letter_is_lost_between_two_lines(text in "[a-f\u{9501}\u{301} ]{0,60}", columns in 2usize..20) {
        let bare = |text: &str| text.replace(' ', "");
        prop_assert_eq!(bare(&wrap_words(&text, columns, U).concat()), bare(&harmless(&text, U)));
        prop_assert_eq!(wrap_bytes(text.as_bytes(), columns, U).concat(), harmless_bytes(text.as_bytes(), U));
    }
}
