use super::*;

#[test]
fn a_turn_that_wrote_nothing_goes_on_as_before_it_began() {
    let mut gather = Letters::behind(0);
    let a = gather.arrive(Arc::new('a'), 101, 'a');
    let drive = gather.drive(a, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "a");
    gather.begin(drive.number).unwrap();
    gather.decide(drive.number, 0);
    gather.decided(drive.number);
    gather.commit(drive.number, "proof");
    gather.arrive(Arc::new('b'), 10, 'b');
    gather.retreat(drive.number);
    // It owes nothing to those that came meanwhile.
    assert_eq!(letters(&mut gather, &drive), "a");
    // If its driver goes away, it was not about to write.
    let left = gather.abandon(drive.number).unwrap();
    assert_eq!((left.unknown, left.blamed), (vec![], Some('a')));
}

#[test]
fn a_turn_that_wrote_nothing_blames_its_driver_again() {
    let (mut gather, [_, b]) = gather(['a', 'b']);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "ab");
    gather.begin(drive.number).unwrap();
    gather.decide(drive.number, 0);
    gather.decided(drive.number);
    gather.retreat(drive.number);
    assert_eq!(gather.abandon(drive.number).unwrap().blamed, Some('b'));
}
