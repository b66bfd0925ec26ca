//! What others must keep beside an attack.

/// As [`must_keep`], for a half.
#[track_caller]
pub fn must_keep_half(beside: usize, alone: usize) {
    must_keep(2, beside, alone);
}

/// Panics unless others kept this part of what they had alone: a third if it is 3.
///
/// `cargo xtask attack` runs one attack after another and nothing else, so it asks for that.
/// Where other tests take the machine meanwhile, the two figures are not of equal times. There a
/// sixteenth shows that nobody starved.
///
/// # Panics
///
/// They kept less.
#[track_caller]
pub fn must_keep(part: usize, beside: usize, alone: usize) {
    let share = if is_alone() { part } else { 16 };
    assert!(share * beside >= alone, "{beside} of {alone}");
}

/// Whether an attack and those beside it have the machine for themselves.
#[must_use]
pub fn is_alone() -> bool {
    std::env::var_os("EDGELOCK_ATTACK").is_some()
}
