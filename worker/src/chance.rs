//! Who wins: chance says it, and likes nobody more than another.

/// Draws `count` of `entrants`, or all of them if there are not more, in the order in which they are drawn: the first steps of
/// a Fisher–Yates shuffle. `random` gives numbers of which each is as likely as any other.
pub(crate) fn draw<T, E>(
    mut entrants: Vec<T>,
    count: usize,
    mut random: impl FnMut() -> Result<u64, E>,
) -> Result<Vec<T>, E> {
    let count = count.min(entrants.len());
    for place in 0..count {
        let left = (place..entrants.len()).len() as u64;
        let chosen = below(left, &mut random)? as usize;
        entrants.swap(place, place + chosen);
    }
    entrants.truncate(count);
    Ok(entrants)
}

/// A number below `bound`, each as likely. 2^64 is seldom a multiple of `bound`, and a remainder alone would give the low numbers
/// one chance more: what lies beyond the last whole multiple is drawn again.
fn below<E>(bound: u64, random: &mut impl FnMut() -> Result<u64, E>) -> Result<u64, E> {
    let multiple = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random()?;
        if drawn < multiple {
            return Ok(drawn % bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::convert::Infallible;

    use super::*;

    /// Chance as it was agreed on beforehand.
    fn fixed(numbers: &[u64]) -> impl FnMut() -> Result<u64, Infallible> {
        let mut numbers = numbers.iter().copied();
        move || Ok(numbers.next().expect("no more is drawn than is needed"))
    }

    #[test]
    fn every_order_of_winners_is_as_likely() {
        let mut drawn = BTreeMap::new();
        for first in 0..12 {
            for second in 0..12 {
                let Ok(winners) = draw(vec!["a", "b", "c", "d"], 2, fixed(&[first, second]));
                *drawn.entry(winners).or_insert(0) += 1;
            }
        }
        assert_eq!(drawn.len(), 4 * 3, "{drawn:?}");
        assert!(drawn.values().all(|times| *times == 12), "{drawn:?}");
        assert!(drawn.keys().all(|winners| winners[0] != winners[1]));
    }

    #[test]
    fn numbers_that_would_favour_somebody_are_drawn_again() {
        // 2^64 - 1 is a multiple of 3, and 2^64 is one more.
        assert_eq!(below(3, &mut fixed(&[u64::MAX, 4])), Ok(1));
        assert_eq!(below(3, &mut fixed(&[u64::MAX - 1])), Ok(2));
        let odd = (1 << 63) + 1;
        assert_eq!(below(odd, &mut fixed(&[odd, odd - 1])), Ok(odd - 1));
    }

    #[test]
    fn of_ten_or_fewer_all_win() {
        for count in 0..=10 {
            let entrants: BTreeSet<u64> = (0..count).collect();
            let mut number = 0;
            let Ok(winners) = draw(entrants.iter().copied().collect(), 10, || {
                number += 7;
                Ok::<_, Infallible>(number)
            });
            assert_eq!(winners.into_iter().collect::<BTreeSet<_>>(), entrants);
        }
    }

    #[test]
    fn nobody_wins_where_there_is_no_chance() {
        assert_eq!(draw(vec![1, 2], 1, || Err("no")), Err("no"));
    }
}
