//! Which of several bridges a name lives behind: rendezvous hashing.
//!
//! Each bridge's id and the name make a score, and the highest score has the name (Thaler and
//! Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998). So one more bridge takes
//! its share from all the others, and nothing moves between those. Clients of every version and
//! language must compute the same scores.

/// The place among `ids` of the bridge that `name` belongs to; 0 if there are none.
pub(crate) fn place<'a>(ids: impl Iterator<Item = &'a str>, name: &str) -> usize {
    ids.enumerate()
        .max_by_key(|(_, id)| score(id, name))
        .map_or(0, |(place, _)| place)
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>) of both with a NUL between them, which no
/// id contains. Its high bits hardly depend on the last bytes. So they are mixed like the last step
/// of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn score(id: &str, name: &str) -> u64 {
    let bytes = id.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ids: &[String], name: &str) -> usize {
        super::place(ids.iter().map(String::as_str), name)
    }

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("redis-{at}")).collect()
    }

    fn names() -> impl Iterator<Item = String> {
        (0..60_000).map(|at| format!("sku:{at}"))
    }

    #[test]
    fn every_client_comes_to_the_same_place() {
        assert_eq!(score("", ""), 2_737_183_428_366_584_608);
        let places: Vec<_> = names().take(16).map(|name| place(&ids(3), &name)).collect();
        assert_eq!(places, [2, 0, 0, 0, 2, 0, 2, 1, 1, 2, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn each_bridge_gets_its_share() {
        let mut shares = [0; 6];
        for name in names() {
            shares[place(&ids(6), &name)] += 1;
        }
        // Of 10,000 each, five standard deviations.
        assert!(
            shares.iter().all(|share| (9_540..=10_460).contains(share)),
            "{shares:?}"
        );
    }

    #[test]
    fn one_more_bridge_takes_its_share_and_moves_nothing_else() {
        let (before, after) = (ids(5), ids(6));
        let moved: Vec<_> = names()
            .filter(|name| place(&before, name) != place(&after, name))
            .map(|name| place(&after, &name))
            .collect();
        assert!(moved.iter().all(|place| *place == 5));
        assert!((9_540..=10_460).contains(&moved.len()), "{}", moved.len());
    }

    #[test]
    fn the_order_of_the_bridges_does_not_matter() {
        let ids = ids(4);
        let mut reversed = ids.clone();
        reversed.reverse();
        for name in names().take(1_000) {
            assert_eq!(ids[place(&ids, &name)], reversed[place(&reversed, &name)]);
        }
    }
}
