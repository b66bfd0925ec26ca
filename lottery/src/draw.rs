//! Draws winners at random, all with the same chance.

use std::collections::BTreeMap;

/// Draws `count` of the numbers below `bound`, or all of them if there are fewer, in the order of
/// the draw: the first steps of a Fisher–Yates shuffle. Each number from `random` must be equally
/// likely.
pub fn draw<E>(
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
