//! The days of lotteries.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime};
use serde::{Serialize, Serializer};

/// A day in UTC, written as in `2026-11-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day(NaiveDate);

impl Day {
    /// Accepts no other form, so that one day has one id.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '-');
        let mut number = || numbers.next()?.parse::<u16>().ok();
        let (year, month, day) = (number()?, number()?, number()?);
        let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
        Self::new(date).filter(|day| day.to_string() == text)
    }

    /// The day of an instant, in milliseconds since 1970.
    pub(crate) fn at(ms: i64) -> Option<Self> {
        Self::new(DateTime::from_timestamp_millis(ms)?.date_naive())
    }

    fn new(date: NaiveDate) -> Option<Self> {
        (1970..=9999).contains(&date.year()).then_some(Self(date))
    }

    /// In milliseconds since 1970.
    pub(crate) fn noon_ms(self) -> u64 {
        let midnight = self.0.and_time(NaiveTime::MIN).and_utc();
        let noon = midnight.timestamp_millis() + 12 * 60 * 60 * 1000;
        noon.unsigned_abs()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_id() {
        let day = Day::parse("2026-11-21").unwrap();
        assert_eq!(day.to_string(), "2026-11-21");
        for none in [
            "",
            "today",
            "2026-11-31",
            "2025-02-29",
            "2026-1-1",
            "2026-11-21 ",
            " 2026-11-21",
            "+2026-11-21",
            "26-11-21",
            "1969-12-31",
            "+10000-01-01",
            "-2026-11-21",
            "2026-11-21T12:00:00Z",
        ] {
            assert_eq!(Day::parse(none), None, "{none}");
        }
    }

    #[test]
    fn an_instant_is_of_its_day_in_utc() {
        let day = Day::parse("2026-11-21").unwrap();
        let noon: i64 = 1_795_262_400_000;
        assert_eq!(day.noon_ms(), noon.unsigned_abs());
        let half_a_day = 12 * 60 * 60 * 1000;
        for ms in [noon - half_a_day, noon, noon + half_a_day - 1] {
            assert_eq!(Day::at(ms), Some(day), "{ms}");
        }
        assert_ne!(Day::at(noon + half_a_day), Some(day));
        for nowhere in [-1, i64::MIN, i64::MAX] {
            assert_eq!(Day::at(nowhere), None);
        }
    }
}
