/// A number of things in words: `1 lock`, `2 locks`, `21 115 locks`.
///
/// ```
/// use lockscope::znode::plural;
///
/// assert_eq!(plural(1, "lock", "locks"), "1 lock");
/// assert_eq!(plural(0, "lock", "locks"), "0 locks");
/// assert_eq!(plural(21_115, "lock", "locks"), "21 115 locks");
/// ```
pub fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { more })
}

/// A whole number with a blank between its thousands: `21 115`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
