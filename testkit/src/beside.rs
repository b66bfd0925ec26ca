//! What others must keep beside an attack.

/// Panics unless others kept half of what they had alone.
///
/// `cargo xtask attack` runs one attack after another and nothing else, so it asks for a half.
/// Where other tests take the machine meanwhile, the two figures are not of equal times. There a
/// sixteenth shows that nobody starved.
#[track_caller]
pub fn must_keep_half(beside: usize, alone: usize) {
    let share = if is_alone() { 2 } else { 16 };
    assert!(share * beside >= alone, "{beside} of {alone}");
}

/// Whether an attack and those beside it have the machine for themselves.
#[must_use]
pub fn is_alone() -> bool {
    std::env::var_os("EDGELOCK_ATTACK").is_some()
}
