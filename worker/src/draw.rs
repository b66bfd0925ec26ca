//! Draws winners at random, all with the same chance.

use std::collections::BTreeMap;

/// Draws `count` of the numbers below `bound`, or all of them if there are fewer, in the order of
/// the draw: the first steps of a Fisher–Yates shuffle. Each number from `random` must be equally
/// likely.
pub(crate) fn draw<E>(
    bound: u64,
    count: u64,
    mut random: impl FnMut() -> Result<u64, E>,
) -> Result<Vec<u64>, E> {
    // The places whose number is no longer their own: of a million only a few change.
    let mut moved = BTreeMap::new();
    let mut drawn = Vec::new();
    for place in 0..count.min(bound) {
        let chosen = place + below(bound - place, &mut random)?;
        let here = moved.get(&place).copied().unwrap_or(place);
        drawn.push(moved.insert(chosen, here).unwrap_or(chosen));
    }
    Ok(drawn)
}

/// A number below `bound`, each equally likely. 2^64 is seldom a multiple of `bound`, so a
/// remainder alone would favour the low numbers. A number beyond the last whole multiple is drawn
/// again.
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
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use super::*;

    /// Numbers that the test chooses.
    fn fixed(numbers: &[u64]) -> impl FnMut() -> Result<u64, Infallible> {
        let mut numbers = numbers.iter().copied();
        move || Ok(numbers.next().expect("no more is drawn than is needed"))
    }

    #[test]
    fn every_order_of_winners_is_as_likely() {
        let mut drawn = BTreeMap::new();
        for first in 0..24 {
            for second in 0..24 {
                for third in 0..24 {
                    let Ok(winners) = draw(4, 3, fixed(&[first, second, third]));
                    *drawn.entry(winners).or_insert(0) += 1;
                }
            }
        }
        assert_eq!(drawn.len(), 4 * 3 * 2, "{drawn:?}");
        assert!(drawn.values().all(|times| *times == 576), "{drawn:?}");
        let differ = |winners: &Vec<u64>| BTreeSet::from_iter(winners).len() == 3;
        assert!(drawn.keys().all(differ), "{drawn:?}");
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
        for bound in 0..=10 {
            let mut number = 0;
            let Ok(winners) = draw(bound, 10, || {
                number += 7;
                Ok::<_, Infallible>(number)
            });
            assert!(
                winners
                    .into_iter()
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .eq(0..bound)
            );
        }
    }

    #[test]
    fn a_draw_costs_the_same_however_many_take_part() {
        let Ok(winners) = draw(u64::MAX, 3, fixed(&[0, u64::MAX - 2, 5]));
        assert_eq!(winners, [0, u64::MAX - 1, 7]);
    }

    #[test]
    fn nobody_wins_where_there_is_no_chance() {
        assert_eq!(draw(2, 1, || Err("no")), Err("no"));
    }
}
