//! Numbers as a table shows them.

/// Three digits, or all of a whole number.
fn digits(number: f64) -> String {
    let decimals = match number.abs() {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// How many times as much.
pub(crate) fn ratio(number: f64) -> String {
    if number.abs() < 9_995.0 {
        return digits(number);
    }
    let thousands = format!("{:.0}", number / 1e3);
    format!("{thousands},000")
}

/// Nanoseconds in a unit that suits them.
pub(crate) fn time(nanoseconds: f64) -> String {
    in_units(nanoseconds, &["ns", "µs", "ms", "s"])
}

/// Bytes in a unit that suits them; a kilobyte has a thousand.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes < 1000.0 {
        return format!("{bytes:.0} B");
    }
    in_units(bytes, &["B", "KB", "MB", "GB"])
}

fn in_units(mut number: f64, units: &[&str]) -> String {
    let mut units = units.iter();
    let mut unit = units.next();
    while let Some(larger) = units.next().filter(|_| number >= 999.5) {
        (number, unit) = (number / 1e3, Some(larger));
    }
    format!("{} {}", digits(number), unit.copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{bytes, ratio, time};

    #[test]
    fn three_digits_are_enough() {
        assert_eq!(
            [0.0, 0.734, 1.0, 12.34, 123.4].map(ratio),
            ["0.00", "0.73", "1.00", "12.3", "123"]
        );
        assert_eq!(ratio(123_456.0), "123,000");
        assert_eq!(
            [0.51, 999.4, 999.9, 1.5e6, 2.5e9].map(time),
            ["0.51 ns", "999 ns", "1.00 µs", "1.50 ms", "2.50 s"]
        );
        assert_eq!(
            [0.0, 28.0, 28_831.0, 248e6].map(bytes),
            ["0 B", "28 B", "28.8 KB", "248 MB"]
        );
    }
}
