//! The days of lotteries.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime};
use serde::{Serialize, Serializer};

/// A day in UTC, written as in `2026-11-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day(NaiveDate);

impl Day {
    /// Accepts no other form, so that one day has one id.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '-');
        let mut number = || numbers.next()?.parse::<u16>().ok();
        let (year, month, day) = (number()?, number()?, number()?);
        let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
        Self::new(date).filter(|day| day.to_string() == text)
    }

    /// The day of an instant, in milliseconds since 1970.
    pub fn at(ms: i64) -> Option<Self> {
        Self::new(DateTime::from_timestamp_millis(ms)?.date_naive())
    }

    fn new(date: NaiveDate) -> Option<Self> {
        (1970..=9999).contains(&date.year()).then_some(Self(date))
    }

    /// In milliseconds since 1970.
    pub fn noon_ms(self) -> u64 {
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
